#include "app/trained_model.h"

#include <filesystem>

#include "app/tokenizer_files.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::app {

text::Tokenizer tokenizer_of(const config::TokenizerOptions& given,
                             const config::TokenizerOptions& saved) {
  const bool is_given = given.names_files();
  config::TokenizerOptions files = is_given ? given : saved;
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
                .rule = "a run names its tokenizer as seen from the folder in which it was started",
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

void require_words(const text::Tokenizer& tokenizer, int64_t rows) {
  if (tokenizer.vocab_size() <= rows) return;
  fail({.where = "tokenizer",
        .what = format("{} tokens, the model has {} words", tokenizer.vocab_size(), rows),
        .rule = "every token is a word of the model",
        .remedy = "use the tokenizer that the model was trained with"});
}

}  // namespace trireme::app
