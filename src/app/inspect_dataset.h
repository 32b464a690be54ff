#pragma once
#include <optional>

#include "core/file.h"
#include "core/thread_pool.h"
#include "text/tokenizer.h"

namespace trireme::app {

/// Prints what a dataset is: counts, lengths, and with a tokenizer its first texts. json: as one
/// JSON object. Reads every token once. Throws where the dataset is damaged, or holds ids that the
/// tokenizer does not have.
void inspect_dataset(const Path& prefix, const std::optional<text::Tokenizer>& tokenizer, bool json,
                     ThreadPool& pool);

}  // namespace trireme::app
