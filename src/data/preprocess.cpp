#include "data/preprocess.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "data/indexed_writer.h"
#include "data/json_texts.h"

namespace trireme::data {
namespace {

constexpr size_t kBatchBytesPerThread = size_t{2} << 20;
constexpr size_t kTaskBytes = size_t{32} << 10;  // text that one task encodes, at least

/// The tokens of a stretch of documents, and where in them sequences and documents end.
struct EncodedTexts {
  enum class End : uint8_t { sequence, document };
  std::vector<int32_t> tokens;
  std::vector<std::pair<size_t, End>> ends;  // tokens before the end, ascending

  void clear() {
    tokens.clear();
    ends.clear();
  }
  void end(End what) { ends.emplace_back(tokens.size(), what); }
};

/// What one thread needs to encode.
struct Worker {
  text::Encoder encoder;
  JsonTexts json;
};

struct Task {
  size_t first = 0;  // pieces [first, last) of the batch
  size_t last = 0;
  std::vector<EncodedTexts> texts;  // one for each key
  std::exception_ptr failure;
};

void encode_json(const JsonTexts::Texts& texts, std::optional<int32_t> eod, Worker& worker,
                 std::vector<EncodedTexts>& out) {
  for (size_t key = 0; key < texts.size(); ++key) {
    EncodedTexts& encoded = out[key];
    const size_t ends_before = encoded.ends.size();
    for (const std::string_view text : texts[key]) {
      const size_t before = encoded.tokens.size();
      worker.encoder.encode(text, encoded.tokens);
      if (encoded.tokens.size() > before) encoded.end(EncodedTexts::End::sequence);
    }
    if (eod && encoded.ends.size() > ends_before) {
      encoded.tokens.push_back(*eod);  // belongs to the last sequence
      ++encoded.ends.back().first;
    }
    encoded.end(EncodedTexts::End::document);
  }
}

void encode_text(std::string_view text, const CorpusPiece& piece, std::optional<int32_t> eod,
                 Worker& worker, EncodedTexts& out) {
  worker.encoder.encode(text, out.tokens);
  if (!piece.ends_document) return;
  if (!piece.document_is_empty) {
    if (eod) out.tokens.push_back(*eod);
    out.end(EncodedTexts::End::sequence);
  }
  out.end(EncodedTexts::End::document);
}

void write(const EncodedTexts& texts, IndexedWriter& writer) {
  size_t written = 0;
  const auto append_to = [&](size_t end) {
    writer.append(std::span(texts.tokens).subspan(written, end - written));
    written = end;
  };
  for (const auto& [end, what] : texts.ends) {
    append_to(end);
    if (what == EncodedTexts::End::sequence) {
      writer.end_sequence();
    } else {
      writer.end_document();
    }
  }
  append_to(texts.tokens.size());  // the beginning of a document that ends in a later piece
}

/// Cuts the batch into tasks of whole pieces; returns how many. The tasks keep their memory.
size_t cut_tasks(const CorpusBatch& batch, size_t keys, std::vector<Task>& tasks) {
  size_t count = 0;
  for (size_t piece = 0; piece < batch.pieces.size();) {
    if (count == tasks.size()) tasks.emplace_back();
    Task& task = tasks[count++];
    task.first = piece;
    task.texts.resize(keys);
    for (EncodedTexts& texts : task.texts) texts.clear();
    for (size_t bytes = 0; piece < batch.pieces.size() && bytes < kTaskBytes; ++piece)
      bytes += batch.pieces[piece].size;
    task.last = piece;
  }
  return count;
}

void check(const PreprocessOptions& options, const CorpusReader& reader,
           const text::Tokenizer& tokenizer) {
  const std::vector<std::string>& keys = options.json_keys;
  if (keys.empty() || std::set<std::string>(keys.begin(), keys.end()).size() != keys.size()) {
    fail_usage({.where = "--json-keys",
                .what = keys.empty() ? "names no key" : "names a key twice",
                .rule = "every key becomes a dataset of its own"});
  }
  for (const std::string& key : keys) {
    if (key.empty() || key.find('/') != std::string::npos) {
      fail_usage({.where = "--json-keys",
                  .what = format("\"{}\" cannot be part of a file name", key),
                  .rule = "files are named PREFIX_KEY_document"});
    }
  }
  for (size_t file = 0; file < reader.files().size(); ++file) {
    if (!reader.is_json(file) && (keys.size() > 1 || keys[0] != "text")) {
      fail_usage({.where = reader.files()[file].string(),
                  .what = format("is plain text, --json-keys asks for \"{}\"", keys.back()),
                  .rule = "plain text has the single key \"text\"",
                  .remedy = "leave out --json-keys, or name the file .jsonl if it is JSONL"});
    }
  }
  if (options.append_eod && !tokenizer.end_of_text()) {
    fail_usage({.where = "--append-eod",
                .what = format("the tokenizer has neither \"{}\" nor \"{}\"", text::kEndOfText,
                               text::kEndOfTextOfLlama3),
                .remedy = "name another of its special tokens by --eod-token, leave out "
                          "--append-eod, or train a tokenizer with that special token"});
  }
}

Path dataset_prefix(const Path& prefix, const std::string& key) {
  Path path = prefix;
  return path += "_" + key + "_document";
}

}  // namespace

std::vector<PreprocessedDataset> preprocess(const PreprocessOptions& options,
                                            const text::Tokenizer& tokenizer, ThreadPool& pool) {
  CorpusOptions corpus = options.corpus;
  corpus.cuts_at_lines = tokenizer.cuts_at_lines();
  CorpusReader reader(std::move(corpus));
  check(options, reader, tokenizer);
  const size_t keys = options.json_keys.size();
  const std::optional<int32_t> eod = options.append_eod ? tokenizer.end_of_text() : std::nullopt;

  if (options.output_prefix.has_parent_path()) make_folder(options.output_prefix.parent_path());
  std::vector<std::unique_ptr<IndexedWriter>> writers;
  for (const std::string& key : options.json_keys) {
    writers.push_back(std::make_unique<IndexedWriter>(dataset_prefix(options.output_prefix, key),
                                                      token_type_for(tokenizer.vocab_size())));
  }
  std::vector<Worker> workers;
  for (int thread = 0; thread < pool.threads(); ++thread)
    workers.push_back({text::Encoder(tokenizer), JsonTexts(options.json_keys)});

  std::optional<Progress> progress;
  if (options.show_progress) progress.emplace("preprocess", "bytes", reader.total_bytes());
  const auto documents_text = [&] {
    return format("{} documents", count_text(static_cast<double>(writers[0]->documents())));
  };
  CorpusBatch batch;
  std::vector<Task> tasks;
  const size_t batch_bytes = kBatchBytesPerThread * static_cast<size_t>(pool.threads());
  while (reader.next(batch, batch_bytes)) {
    const size_t count = cut_tasks(batch, keys, tasks);
    pool.parallel_for(static_cast<int64_t>(count), [&](int64_t index, int thread) {
      Task& task = tasks[static_cast<size_t>(index)];
      Worker& worker = workers[static_cast<size_t>(thread)];
      try {
        for (size_t at = task.first; at < task.last; ++at) {
          const CorpusPiece& piece = batch.pieces[at];
          const std::string_view text = batch.text(piece);
          if (piece.is_json) {
            const auto& texts = worker.json.parse(text, reader.files()[piece.file], piece.line);
            encode_json(texts, eod, worker, task.texts);
          } else {
            encode_text(text, piece, eod, worker, task.texts[0]);
          }
        }
      } catch (...) {
        task.failure = std::current_exception();
      }
    });
    for (size_t index = 0; index < count; ++index) {
      // The first failure in the corpus is told, whichever thread was the first to fail.
      if (tasks[index].failure) std::rethrow_exception(tasks[index].failure);
      for (size_t key = 0; key < keys; ++key) write(tasks[index].texts[key], *writers[key]);
    }
    if (progress) progress->update(reader.bytes_read(), documents_text());
  }

  for (size_t key = 0; key < keys; ++key) {
    if (writers[key]->tokens() > 0) continue;
    fail({.where = options.corpus.inputs.empty() ? "--input" : options.corpus.inputs[0].string(),
          .what = format("the corpus has {} documents and no token under \"{}\"",
                         writers[key]->documents(), options.json_keys[key]),
          .rule = "a dataset has at least one token",
          .remedy = "check --input and --json-keys"});
  }
  std::vector<PreprocessedDataset> datasets;
  for (size_t key = 0; key < keys; ++key) {
    IndexedWriter& writer = *writers[key];
    writer.commit();
    datasets.push_back({.key = options.json_keys[key],
                        .prefix = writer.prefix(),
                        .token_type = writer.token_type(),
                        .documents = writer.documents(),
                        .sequences = writer.sequences(),
                        .tokens = writer.tokens(),
                        .text_bytes = reader.bytes_read()});
  }
  if (progress) progress->finish(documents_text());
  return datasets;
}

}  // namespace trireme::data
