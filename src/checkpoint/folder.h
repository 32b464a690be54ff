#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/disk.h"
#include "checkpoint/manifest.h"
#include "core/file.h"

// The folder that --save names: iter_0000100/, iter_0000200/, ..., and
// latest_checkpointed_iteration.txt. Names that begin with a dot are this room's own:
// ".iter_N.tmp-X" is a save under way, or what a killed one left; ".iter_N.old" stands in for
// iter_N while that is replaced where the file system cannot exchange two names;
// ".iter_probe.tmp-X" is probe.h's.

namespace trireme::checkpoint {

/// As in "iter_0000100".
[[nodiscard]] std::string iteration_name(int64_t iteration);

/// Where the checkpoint of an iteration lies. It need not exist.
[[nodiscard]] Path iteration_folder(const Path& root, int64_t iteration);

/// What latest_checkpointed_iteration.txt says; none where there is no such file (nothing was saved
/// here). Throws where it says no number.
[[nodiscard]] std::optional<int64_t> latest_iteration(const Path& root);

/// Throws unless the files are in the folder, with their sizes. Contents are not looked at.
void require_files(const Path& folder, const Contents& contents);

/// The manifest of a checkpoint whose files are all there with their sizes. Throws otherwise.
/// Contents of files are not looked at; CheckpointReader does that.
[[nodiscard]] Manifest read_manifest(const Path& root, int64_t iteration);

/// Iterations that are there, whole or not, newest first. No folder: none.
[[nodiscard]] std::vector<int64_t> find_iterations(const Path& root);

/// Those of them whose manifest and file sizes are whole.
[[nodiscard]] std::vector<int64_t> find_whole(const Path& root);

/// Makes an iteration the latest, in one step.
void set_latest(const Path& root, int64_t iteration, Disk& disk = system_disk());

/// Removes what killed saves left, and ends a replacement that was broken off. Not while another
/// save into the folder is under way.
void clean_up(const Path& root, Disk& disk = system_disk());

/// Which checkpoints stay: the newest keep_last (at least one), those whose iteration is a multiple
/// of retain_interval, the latest, and the one that the run was loaded from. Both 0: all. Newer
/// ones than the latest are of another course that the run left (--ckpt-step): neither counted nor
/// removed.
struct Retention {
  int64_t keep_last = 0;
  int64_t retain_interval = 0;
  std::optional<int64_t> loaded = {};
  bool operator==(const Retention&) const = default;
};

/// The iterations to remove. whole: newest first.
[[nodiscard]] std::vector<int64_t> superfluous(const std::vector<int64_t>& whole,
                                               std::optional<int64_t> latest,
                                               const Retention& retention);

/// Cleans up, removes superfluous checkpoints and returns their iterations. Damaged ones are
/// neither counted nor removed.
std::vector<int64_t> apply_retention(const Path& root, const Retention& retention,
                                     Disk& disk = system_disk());

}  // namespace trireme::checkpoint
