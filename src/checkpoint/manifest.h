#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/layout.h"
#include "checkpoint/tensor_spec.h"
#include "parallel/topology.h"

namespace trireme::checkpoint {

inline constexpr const char* kManifestFormat = "trireme-checkpoint";
inline constexpr int64_t kManifestVersion = 1;
inline constexpr const char* kManifestFile = "manifest.json";

/// A box of a tensor, and where its bytes lie.
struct StoredSlice {
  Region region;         ///< in global coordinates, never empty
  std::string file;      ///< in the checkpoint's folder
  std::string key;       ///< the tensor's name in that file
  std::string checksum;  ///< core's, of the slice's bytes
  bool operator==(const StoredSlice&) const = default;
};

struct StoredTensor {
  TensorSpec tensor;
  std::vector<StoredSlice> slices = {};  ///< cover the tensor once; none where it has no elements
  bool operator==(const StoredTensor&) const = default;
};

struct StoredFile {
  std::string name;
  uint64_t bytes = 0;
  std::string head_checksum;  ///< of everything in front of the data; with the slices' checksums
                              ///< every byte of the file is under exactly one
  bool operator==(const StoredFile&) const = default;
};

/// Which files there are and what lies in them: of a whole checkpoint, or the part that one rank
/// wrote. Ranks hand their parts to the one that commits as text.
struct Contents {
  std::vector<StoredFile> files = {};
  std::vector<StoredTensor> tensors = {};
  bool operator==(const Contents&) const = default;

  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
};

/// Where a run stood. What else a run must remember (the loss scale, say) is stored as a tensor.
struct RunState {
  int64_t iteration = 0;
  int64_t consumed_samples = 0;
  int64_t scheduler_samples = 0;  ///< position of the learning-rate schedule
  int64_t adam_step = 0;          ///< updates made, skipped ones not counted
  int64_t seed = 0;
  parallel::Topology ranks;  ///< that wrote it; any other may read it
  std::string options;       ///< the effective configuration as TOML (UTF-8), which can be rerun
  bool operator==(const RunState&) const = default;
};

/// The file manifest.json of a checkpoint.
struct Manifest {
  RunState run;
  Contents contents;
  bool operator==(const Manifest&) const = default;
};

/// Puts the parts of all ranks together. Throws where they describe a tensor differently or have
/// files of one name.
[[nodiscard]] Contents merge(std::span<const Contents> parts);

/// Throws unless this is a whole checkpoint: plain file names, each once; every slice in a known
/// file, inside its tensor, under a key of its own; every element of every tensor stored once.
/// where: file or folder, for messages.
void require_whole(const Contents& contents, const std::string& where);

/// As text: one line per file and tensor, closed by a checksum over the content. Numbers must not
/// be negative. Throws where a text is not UTF-8.
[[nodiscard]] std::string to_json(const Manifest& manifest);
/// Strict: format name, version (an unknown one is refused with what this program reads), checksum,
/// unknown or missing members, require_whole.
[[nodiscard]] Manifest manifest_from_json(std::string_view text, const std::string& where);

/// A rank's part as text, for the way to the committing rank.
[[nodiscard]] std::string to_json(const Contents& contents);
[[nodiscard]] Contents contents_from_json(std::string_view text, const std::string& where);

}  // namespace trireme::checkpoint
