#pragma once
#include "checkpoint/reader.h"
#include "train/options.h"

namespace trireme::train {

/// The options of the run that wrote a checkpoint.
[[nodiscard]] TrainOptions saved_options(const checkpoint::CheckpointReader& reader);

/// Throws, naming every difference, unless a run with these options may continue the checkpoint's:
/// the same model (its dropout may change), seed and split. What may differ but is worth a word, as
/// the place of the data or another layout of ranks, is told.
void require_continuable(const checkpoint::CheckpointReader& reader, const TrainOptions& options,
                         const parallel::Topology& ranks);

}  // namespace trireme::train
