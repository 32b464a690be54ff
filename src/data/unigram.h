#pragma once
#include <cstdint>
#include <span>

#include "data/indexed_dataset.h"
#include "data/sample_index.h"

namespace trireme::data {

/// What a model that knows only how often each token occurs would score: the cross entropy, in nats
/// per token, of the held-out sequences under the token frequencies of the training sequences (each
/// count plus one, so that no token is impossible). The line that a trained model has to beat.
///
/// Reads both ranges once; memory of 8 bytes per word. Ids outside [0, vocabulary) are left to the
/// reader of batches and skipped.
[[nodiscard]] double unigram_entropy(const IndexedDataset& dataset, SequenceRange train,
                                     SequenceRange held_out, int64_t vocabulary);

}  // namespace trireme::data
