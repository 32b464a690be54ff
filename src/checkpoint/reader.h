#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "core/file.h"
#include "parallel/tensor_table.h"

namespace trireme::checkpoint {

/// Throws unless root is a folder that may hold checkpoints: it is there, and no checkpoint itself.
void require_root(const Path& root);

/// A checkpoint, open for reading by any layout. Files are mapped when first read; the bytes of a
/// stored slice are used only after its checksum was found right, once. For one thread; several may
/// each have a reader of their own.
class CheckpointReader {
 public:
  /// root: the folder with iter_N/. Without an iteration: the one that
  /// latest_checkpointed_iteration.txt names. Checks the manifest and the files' sizes. Throws
  /// where that checkpoint is missing or damaged; the message lists the iterations that are whole
  /// and how to choose one.
  [[nodiscard]] static CheckpointReader open(const Path& root,
                                             std::optional<int64_t> iteration = std::nullopt);

  /// The checkpoint of an iteration; errors tell of it alone.
  [[nodiscard]] static CheckpointReader of_iteration(const Path& root, int64_t iteration);

  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  [[nodiscard]] const Path& folder() const { return folder_; }
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The tensor of a name as it is stored; null where there is none.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;

  /// Assembles a slice, however the tensor is cut in the files. out: all of the slice's local shape
  /// (Slice::storage); padding becomes zero. Throws where the tensor is missing, has another shape
  /// or dtype than the wanted one, or its bytes are damaged (file and tensor named).
  void read(const TensorSpec& wanted, const parallel::Slice& slice, std::span<std::byte> out);

  /// Compares every byte of every file with its checksum. One message per damage, naming file and
  /// tensor; empty: the checkpoint is whole.
  [[nodiscard]] std::vector<std::string> damages();
  /// Throws for the first damage and says how many there are.
  void verify();

 private:
  /// A stored slice: indices into contents.tensors and its slices.
  struct Place {
    size_t tensor;
    size_t slice;
  };
  struct OpenFile {
    SafetensorsFile file;
    std::vector<bool> trusted;  ///< per tensor of the file
  };

  CheckpointReader(Path folder, Manifest manifest);
  /// Opens a file once: its head is right, and holds what the manifest says.
  OpenFile& opened(const StoredFile& stored);
  std::span<const std::byte> trusted_bytes(const StoredTensor& stored, const StoredSlice& slice);

  Path folder_;
  Manifest manifest_;
  std::unordered_map<std::string, size_t> tensors_;              ///< name to index
  std::unordered_map<std::string, size_t> files_;                ///< name to index
  std::unordered_map<std::string, std::vector<Place>> in_file_;  ///< what the manifest says of it
  std::map<std::string, OpenFile> open_;
};

}  // namespace trireme::checkpoint
