#pragma once
#include <cstdint>
#include <optional>

#include "checkpoint/folder.h"
#include "checkpoint/reader.h"
#include "train/options.h"
#include "train/together.h"

// The files and folders of a run, looked at before it begins: what is wrong with one of them is
// told at once rather than after hours.

namespace trireme::train {

/// Makes the folders that the options name, and throws for a place that cannot be written and for
/// a --save that holds another run's checkpoints.
void require_places_to_write(const TrainOptions& options);

/// Throws on every rank, naming those that see another folder, unless all see and may write the
/// --save that the first rank made. A collective.
void require_one_folder(const World& world, const Path& save, double seconds = 5);

/// The checkpoint that --load means: that of --ckpt-step; otherwise the latest, or the newest whole
/// one where that is damaged or missing, with warnings. None: a new run, without --load or where
/// --save and --load are one folder that holds nothing yet. Throws where there should be one.
[[nodiscard]] std::optional<checkpoint::CheckpointReader> checkpoint_to_continue(
    const config::CheckpointOptions& options);

/// What stays in --save when more is saved; loaded: what the run continues from.
[[nodiscard]] checkpoint::Retention retention(
    const config::CheckpointOptions& options,
    const std::optional<checkpoint::CheckpointReader>& loaded);

}  // namespace trireme::train
