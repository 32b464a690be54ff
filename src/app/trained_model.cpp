#include "app/trained_model.h"

#include <filesystem>

#include "app/tokenizer_files.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::app {
namespace {

// A path that a run wrote down as seen from where it was started: from here, or from a folder above
// its checkpoint.
Path found_from(const Path& checkpoint, const Path& path) {
  if (path.is_absolute() || std::filesystem::exists(path)) return path;
  for (Path above = std::filesystem::absolute(checkpoint); above.has_relative_path();
       above = above.parent_path()) {
    if (std::filesystem::exists(above / path)) return above / path;
  }
  return path;
}

config::TokenizerOptions found_from(const Path& checkpoint, config::TokenizerOptions options) {
  for (std::optional<Path>* file :
       {&options.tokenizer_model, &options.vocab_file, &options.merge_file}) {
    if (*file) *file = found_from(checkpoint, **file);
  }
  return options;
}

}  // namespace

text::Tokenizer tokenizer_of(const config::TokenizerOptions& given,
                             const config::TokenizerOptions& saved, const Path& checkpoint) {
  const bool is_given = given.names_files();
  config::TokenizerOptions files = is_given ? given : found_from(checkpoint, saved);
  if (given.eod_token) files.eod_token = given.eod_token;
  if (!files.names_files()) {
    fail_usage({.where = "tokenizer",
                .what = "the run was trained without one",
                .rule = "text needs a tokenizer",
                .remedy = "give --tokenizer-model, or --vocab-file and --merge-file"});
  }
  const Path& file = files.tokenizer_model ? *files.tokenizer_model : *files.vocab_file;
  if (!is_given && !std::filesystem::exists(file)) {
    fail_usage({.where = "tokenizer",
                .what = format("the run's {} is not there", file.string()),
                .rule =
                    "a run names its tokenizer as seen from the folder in which it was started; "
                    "it is looked for there and above the checkpoint",
                .remedy = "start there, or give --tokenizer-model, or --vocab-file and "
                          "--merge-file"});
  }
  return require_tokenizer(files);
}

int64_t stored_vocabulary(const checkpoint::CheckpointReader& reader) {
  const auto* tensor = reader.find("embedding.word_embeddings.weight");
  if (tensor == nullptr) {
    fail({.where = reader.folder().string(),
          .what = "no tensor embedding.word_embeddings.weight",
          .rule = "a GPT has one",
          .remedy = "load a checkpoint of `trireme train`"});
  }
  return tensor->tensor.shape[0];
}

void require_words(const text::Tokenizer& tokenizer, int64_t rows, bool given) {
  if (given && tokenizer.vocab_size() < rows) {
    warn(
        format("the tokenizer has {} tokens, the model {} words: what it says is nonsense unless "
               "it was trained with this tokenizer",
               tokenizer.vocab_size(), rows));
  }
  if (tokenizer.vocab_size() <= rows) return;
  fail({.where = "tokenizer",
        .what = format("{} tokens, the model has {} words", tokenizer.vocab_size(), rows),
        .rule = "every token is a word of the model",
        .remedy = "use the tokenizer that the model was trained with"});
}

}  // namespace trireme::app
