#include "data/merge.h"

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "data/indexed_dataset.h"
#include "data/indexed_writer.h"

namespace trireme::data {
namespace {

constexpr int64_t kTokensAtOnce = int64_t{1} << 18;

std::vector<Path> prefixes_in(const Path& folder) {
  std::vector<Path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".idx") found.push_back(folder / at->path().stem());
  }
  if (error) fail({.where = folder.string(), .what = "cannot list: " + error.message()});
  if (found.empty()) {
    fail({.where = folder.string(),
          .what = "the folder holds no dataset",
          .rule = "a dataset is a pair PREFIX.bin and PREFIX.idx"});
  }
  std::sort(found.begin(), found.end());
  return found;
}

void copy(const IndexedDataset& from, IndexedWriter& to, std::vector<int32_t>& tokens,
          Progress& progress) {
  for (int64_t document = 0; document < from.documents(); ++document) {
    const int64_t end = from.first_sequence(document + 1);
    for (int64_t sequence = from.first_sequence(document); sequence < end; ++sequence) {
      const int64_t length = from.length(sequence);
      for (int64_t at = 0; at < length; at += kTokensAtOnce) {
        tokens.resize(static_cast<size_t>(std::min(kTokensAtOnce, length - at)));
        from.read(sequence, at, tokens);
        to.append(tokens);
      }
      to.end_sequence();
    }
    to.end_document();
    progress.update(static_cast<uint64_t>(to.tokens()));
  }
}

}  // namespace

std::vector<Path> dataset_prefixes(const std::vector<Path>& inputs) {
  std::vector<Path> prefixes;
  for (const Path& input : inputs) {
    std::error_code error;
    if (std::filesystem::is_directory(input, error)) {
      const std::vector<Path> found = prefixes_in(input);
      prefixes.insert(prefixes.end(), found.begin(), found.end());
    } else {
      prefixes.push_back(input);
    }
  }
  return prefixes;
}

MergedDataset merge_datasets(const std::vector<Path>& prefixes, const Path& output) {
  // All are opened, and so checked, before anything is written.
  std::vector<std::unique_ptr<const IndexedDataset>> datasets;
  int64_t tokens = 0;
  for (const Path& prefix : prefixes) {
    std::error_code error;
    if (std::filesystem::equivalent(index_path(prefix), index_path(output), error)) {
      fail_usage(
          {.where = "--output-prefix",
           .what = format("{} is one of the datasets to merge", output.string()),
           .rule = "a merged dataset is a new one",
           .remedy = "choose another prefix, or another folder than the one that is merged"});
    }
    datasets.push_back(std::make_unique<const IndexedDataset>(prefix));
    const TokenType first = datasets.front()->token_type();
    const TokenType type = datasets.back()->token_type();
    if (type != first) {
      fail({.where = index_path(prefix).string(),
            .what = format("holds {}, {} holds {}", name_of(type),
                           index_path(prefixes.front()).string(), name_of(first)),
            .rule = "datasets are merged where their token types, and so their vocabularies, agree",
            .remedy = "preprocess them with one tokenizer"});
    }
    if (type != TokenType::u16 && type != TokenType::i32) {
      fail({.where = index_path(prefix).string(),
            .what = format("holds {}", name_of(type)),
            .rule = "datasets of u16 and i32 are merged, which preprocessing writes"});
    }
    tokens += datasets.back()->tokens();
  }
  if (output.has_parent_path()) make_folder(output.parent_path());
  IndexedWriter writer(output, datasets.front()->token_type());
  Progress progress("merge", "tokens", static_cast<uint64_t>(tokens));
  std::vector<int32_t> buffer;
  for (const auto& dataset : datasets) copy(*dataset, writer, buffer, progress);
  writer.commit();
  progress.finish();
  return {.token_type = writer.token_type(),
          .documents = writer.documents(),
          .sequences = writer.sequences(),
          .tokens = writer.tokens()};
}

}  // namespace trireme::data
