#include "data/preprocess.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "data/indexed_writer.h"
#include "data/json_texts.h"
#include "data/preprocess_progress.h"

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
  int64_t skipped = 0;
  std::vector<std::string> first_skipped;
};

constexpr size_t kSkippedShown = 5;

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
    task.skipped = 0;
    task.first_skipped.clear();
    for (size_t bytes = 0; piece < batch.pieces.size() && bytes < kTaskBytes; ++piece)
      bytes += batch.pieces[piece].size;
    task.last = piece;
  }
  return count;
}

// A line that is to be skipped is counted; the first ones are kept with their reasons.
const JsonTexts::Texts* parse(const CorpusPiece& piece, std::string_view line, const Path& file,
                              OnBadLine on_bad_line, Worker& worker, Task& task) {
  if (on_bad_line == OnBadLine::fail) return &worker.json.parse(line, file, piece.line);
  try {
    return &worker.json.parse(line, file, piece.line);
  } catch (const Error& error) {
    ++task.skipped;
    if (task.first_skipped.size() < kSkippedShown) task.first_skipped.emplace_back(error.what());
    return nullptr;
  }
}

// What all tasks share.
struct Job {
  const PreprocessOptions& options;
  const CorpusReader& reader;
  std::optional<int32_t> eod;
};

void encode(const Job& job, const CorpusBatch& batch, Worker& worker, Task& task) {
  for (size_t at = task.first; at < task.last; ++at) {
    const CorpusPiece& piece = batch.pieces[at];
    const std::string_view text = batch.text(piece);
    if (!piece.is_json) {
      encode_text(text, piece, job.eod, worker, task.texts[0]);
      continue;
    }
    const auto* texts =
        parse(piece, text, job.reader.files()[piece.file], job.options.on_bad_line, worker, task);
    if (texts != nullptr) encode_json(*texts, job.eod, worker, task.texts);
  }
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

void require_tokens(const IndexedWriter& writer, const PreprocessOptions& options,
                    const std::string& key, const Preprocessed& so_far) {
  if (writer.tokens() > 0) return;
  std::string what =
      format("the corpus has {} documents and no token under \"{}\"", writer.documents(), key);
  if (so_far.skipped_lines > 0) {
    what += format("; {} lines were skipped, the first: {}", so_far.skipped_lines,
                   so_far.first_skipped[0]);
  }
  fail({.where = options.corpus.inputs.empty() ? "--input" : options.corpus.inputs[0].string(),
        .what = what,
        .rule = "a dataset has at least one token",
        .remedy = "check --input and --json-keys"});
}

Path dataset_prefix(const Path& prefix, const std::string& key) {
  Path path = prefix;
  return path += "_" + key + "_document";
}

}  // namespace

Preprocessed preprocess(const PreprocessOptions& options, const text::Tokenizer& tokenizer,
                        ThreadPool& pool) {
  CorpusOptions corpus = options.corpus;
  corpus.cuts_at_lines = tokenizer.cuts_at_lines();
  CorpusReader reader(std::move(corpus));
  check(options, reader, tokenizer);
  const size_t keys = options.json_keys.size();
  const Job job = {options, reader, options.append_eod ? tokenizer.end_of_text() : std::nullopt};

  if (options.output_prefix.has_parent_path()) make_folder(options.output_prefix.parent_path());
  std::vector<std::unique_ptr<IndexedWriter>> writers;
  for (const std::string& key : options.json_keys) {
    writers.push_back(std::make_unique<IndexedWriter>(dataset_prefix(options.output_prefix, key),
                                                      token_type_for(tokenizer.vocab_size())));
  }
  std::vector<Worker> workers;
  for (int thread = 0; thread < pool.threads(); ++thread)
    workers.push_back({text::Encoder(tokenizer), JsonTexts(options.json_keys)});

  Preprocessed result;
  std::optional<PreprocessProgress> progress;
  if (options.show_progress) progress.emplace(reader, options.log_interval);
  CorpusBatch batch;
  std::vector<Task> tasks;
  const size_t batch_bytes = kBatchBytesPerThread * static_cast<size_t>(pool.threads());
  while (reader.next(batch, batch_bytes)) {
    const size_t count = cut_tasks(batch, keys, tasks);
    pool.parallel_for(static_cast<int64_t>(count), [&](int64_t index, int thread) {
      Task& task = tasks[static_cast<size_t>(index)];
      try {
        encode(job, batch, workers[static_cast<size_t>(thread)], task);
      } catch (...) {
        task.failure = std::current_exception();
      }
    });
    for (size_t index = 0; index < count; ++index) {
      const Task& task = tasks[index];
      // The first failure in the corpus is told, whichever thread was the first to fail.
      if (task.failure) std::rethrow_exception(task.failure);
      for (size_t key = 0; key < keys; ++key) write(task.texts[key], *writers[key]);
      result.skipped_lines += task.skipped;
      for (const std::string& line : task.first_skipped)
        if (result.first_skipped.size() < kSkippedShown) result.first_skipped.push_back(line);
    }
    if (progress) progress->update(writers[0]->documents());
  }
  for (size_t key = 0; key < keys; ++key)
    require_tokens(*writers[key], options, options.json_keys[key], result);
  for (const auto& writer : writers) writer->prepare();
  for (size_t key = 0; key < keys; ++key) {
    IndexedWriter& writer = *writers[key];
    writer.commit();
    result.datasets.push_back({.key = options.json_keys[key],
                               .prefix = writer.prefix(),
                               .token_type = writer.token_type(),
                               .documents = writer.documents(),
                               .sequences = writer.sequences(),
                               .tokens = writer.tokens(),
                               .text_bytes = reader.text_bytes()});
  }
  if (progress) progress->finish(result.datasets[0].documents);
  return result;
}

}  // namespace trireme::data
