#include "app/tokenizer_files.h"

#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace trireme::app {
namespace {

constexpr const char* kGiveOne =
    "give --tokenizer-model, or --vocab-file and --merge-file; trireme tokenizer train makes one";

text::Vocabulary read(const config::TokenizerOptions& options) {
  if (options.tokenizer_model) return text::read_vocabulary(*options.tokenizer_model);
  return text::read_vocabulary(*options.vocab_file, *options.merge_file);
}

std::string special_tokens_of(const text::Vocabulary& vocabulary) {
  constexpr size_t kShown = 8;
  std::string list;
  size_t count = 0;
  for (const std::vector<int32_t>* ids : {&vocabulary.special, &vocabulary.added}) {
    for (const int32_t id : *ids) {
      if (++count > kShown) continue;
      list += (list.empty() ? "" : " ") + shell_word(vocabulary.tokens[static_cast<size_t>(id)]);
    }
  }
  if (count > kShown) list += format(" and {} more", count - kShown);
  return count == 0 ? "it has none" : "it has " + list;
}

}  // namespace

std::optional<text::Tokenizer> load_tokenizer(const config::TokenizerOptions& options) {
  if (!options.names_files()) {
    if (!options.eod_token) return std::nullopt;
    fail_usage(
        {.where = "--eod-token", .what = "has no effect without a tokenizer", .remedy = kGiveOne});
  }
  text::Vocabulary vocabulary = read(options);
  if (options.eod_token) {
    vocabulary.end_of_document = text::find_special(vocabulary, *options.eod_token);
    if (!vocabulary.end_of_document) {
      fail_usage({.where = "--eod-token",
                  .what = format("\"{}\" is no special token of the tokenizer", *options.eod_token),
                  .rule = special_tokens_of(vocabulary),
                  .remedy = "name one of its special tokens"});
    }
  }
  return text::Tokenizer(std::move(vocabulary));
}

text::Tokenizer require_tokenizer(const config::TokenizerOptions& options) {
  if (!options.names_files())
    fail_usage({.where = "tokenizer", .what = "none is given", .remedy = kGiveOne});
  return *load_tokenizer(options);
}

std::string tokenizer_words(const config::TokenizerOptions& options) {
  std::string words;
  const auto add = [&](const char* name, const std::string& value) {
    words += format("{}--{} {}", words.empty() ? "" : " ", name, shell_word(value));
  };
  if (options.vocab_file) add("vocab-file", options.vocab_file->string());
  if (options.merge_file) add("merge-file", options.merge_file->string());
  if (options.tokenizer_model) add("tokenizer-model", options.tokenizer_model->string());
  if (options.eod_token) add("eod-token", *options.eod_token);
  return words;
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text(1, '\'');
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text += '\'';
}

}  // namespace trireme::app
