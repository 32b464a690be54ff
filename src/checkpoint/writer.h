#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/disk.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "core/file.h"
#include "parallel/tensor_table.h"

namespace trireme::checkpoint {

// A save. One rank commits; all write, each into files of its own:
//
//   CheckpointWriter save("CK", 100);                    // the committing rank
//   SliceWriter part(save.folder(), slices);             // each rank, once that folder is there
//   for (size_t i = 0; i < slices.size(); ++i) part.write(i, bytes_of(i));
//   const Contents mine = part.finish();                 // gathered, as text, by the caller
//   save.commit(run_state, all_parts);                   // the committing rank
//
// Without commit the folder CK is as it was.

/// A slice that one rank writes.
struct SliceToWrite {
  TensorSpec tensor;      ///< global shape; dtype as stored
  parallel::Slice slice;  ///< of the tensor; may be empty (padding only), then nothing is stored
  std::string stem;       ///< of the file, as in "model" for model.safetensors
};

/// Writes one rank's slices, one safetensors file per stem. Ranks must differ in stems. A slice is
/// stored under its tensor's name, with the region behind it unless that is the whole tensor.
class SliceWriter {
 public:
  /// folder: of the CheckpointWriter, on a file system that all ranks see.
  SliceWriter(const Path& folder, std::vector<SliceToWrite> slices, Disk& disk = system_disk());

  /// All bytes of slices[index] in its local shape (Slice::storage); padding is left out of the
  /// file. Slices of one file come in the order of the list.
  void write(size_t index, std::span<const std::byte> bytes);

  /// Makes the files durable. All slices must have been written.
  [[nodiscard]] Contents finish();

 private:
  struct File {
    std::unique_ptr<DiskFile> file;
    std::unique_ptr<SafetensorsWriter> tensors;
  };
  static std::string file_name(const SliceToWrite& slice);

  std::vector<SliceToWrite> slices_;
  std::vector<std::string> checksums_;
  std::vector<bool> written_;
  std::map<std::string, File> files_;  ///< by name
  std::vector<std::byte> packed_;      ///< scratch for slices with padding inside
};

/// Makes a checkpoint appear whole, or not at all: files go to a folder of a temporary name, and
/// the manifest last; all of it is made durable; then the folder gets its name and
/// latest_checkpointed_iteration.txt names it. An older checkpoint of this iteration is replaced,
/// with no moment in which neither is whole.
class CheckpointWriter {
 public:
  /// Creates root where it is missing, removes what killed saves left, creates the folder. Only one
  /// save at a time may write to a root.
  CheckpointWriter(Path root, int64_t iteration, Disk& disk = system_disk());
  /// Removes the folder unless it was committed.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Where the ranks write.
  [[nodiscard]] const Path& folder() const { return folder_; }

  /// run.iteration is the constructor's; parts: one of each rank of run.ranks. Throws where the
  /// parts do not make a whole checkpoint, their files are not seen, or a file call fails; what was
  /// saved before is then still whole, or this checkpoint has already taken its place.
  void commit(const RunState& run, std::span<const Contents> parts);

 private:
  void place();

  Path root_;
  int64_t iteration_;
  Disk& disk_;
  Path folder_;
  bool open_ = true;
};

}  // namespace trireme::checkpoint
