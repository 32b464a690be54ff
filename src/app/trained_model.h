#pragma once
#include <cstdint>

#include "checkpoint/reader.h"
#include "config/groups/tokenizer.h"
#include "text/tokenizer.h"

// A trained model and its words, for the subcommands that use one.

namespace trireme::app {

/// The tokenizer that was asked for, or the run's own, whose files are named as from where it ran:
/// they are looked for from here and from the folders above the checkpoint. Either may be given
/// another end of documents. Usage error where there is none.
[[nodiscard]] text::Tokenizer tokenizer_of(const config::TokenizerOptions& given,
                                           const config::TokenizerOptions& saved,
                                           const Path& checkpoint);

/// Words of the word embeddings, as stored.
[[nodiscard]] int64_t stored_vocabulary(const checkpoint::CheckpointReader& reader);

/// Throws unless every token is a word of a model with so many. given: the tokenizer is not the
/// run's own; then fewer tokens are warned of.
void require_words(const text::Tokenizer& tokenizer, int64_t rows, bool given);

}  // namespace trireme::app
