#pragma once
#include <optional>
#include <string>

#include "config/groups/tokenizer.h"
#include "text/tokenizer.h"

// From the options that name a tokenizer to the tokenizer, for all subcommands.

namespace trireme::app {

/// The tokenizer of the options; none where they name none. Usage error for an --eod-token that is
/// no special token, or comes without a tokenizer.
[[nodiscard]] std::optional<text::Tokenizer> load_tokenizer(
    const config::TokenizerOptions& options);

/// For subcommands that need one: usage error where the options name none.
[[nodiscard]] text::Tokenizer require_tokenizer(const config::TokenizerOptions& options);

/// The options as words of a command line, with the file names as a shell wants them.
[[nodiscard]] std::string tokenizer_words(const config::TokenizerOptions& options);

/// As one types it in a shell.
[[nodiscard]] std::string shell_word(const std::string& word);

}  // namespace trireme::app
