#include "checkpoint/writer.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "checkpoint/folder.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::checkpoint {
namespace {

std::string key_of(const SliceToWrite& slice) {
  const Region region = region_of(slice.slice);
  return region == whole(slice.tensor.shape) ? slice.tensor.name
                                             : slice.tensor.name + region.text();
}

Metadata metadata() {
  return {{"format", kManifestFormat}, {"version", std::to_string(kManifestVersion)}};
}

void create_folders(const Path& path, Disk& disk) {
  if (path.empty() || is_there(path)) return;
  create_folders(path.parent_path(), disk);
  disk.create_folder(path);
  disk.sync_folder(path.has_parent_path() ? path.parent_path() : Path("."));
}

/// What a killed save left is not worth the failure of this one.
void try_to_clean_up(const Path& root, Disk& disk) {
  try {
    clean_up(root, disk);
  } catch (const Error& error) {
    warn(format("what an earlier save left could not be removed: {}", error.what()));
  }
}

}  // namespace

std::string SliceWriter::file_name(const SliceToWrite& slice) {
  return slice.stem + ".safetensors";
}

SliceWriter::SliceWriter(const Path& folder, std::vector<SliceToWrite> slices, Disk& disk)
    : slices_(std::move(slices)), checksums_(slices_.size()), written_(slices_.size(), false) {
  std::map<std::string, std::vector<TensorSpec>> contents;
  for (const SliceToWrite& slice : slices_) {
    TRIREME_ASSERT(lies_in(region_of(slice.slice), slice.tensor.shape),
                   "a slice lies in its tensor");
    if (slice.slice.extent.elements() == 0) continue;
    contents[file_name(slice)].push_back(
        {.name = key_of(slice), .dtype = slice.tensor.dtype, .shape = slice.slice.extent});
  }
  for (auto& [name, tensors] : contents) {
    File& file = files_[name];
    file.file = disk.create(folder / name);
    file.tensors = std::make_unique<SafetensorsWriter>(
        [target = file.file.get()](std::span<const std::byte> bytes) { target->write(bytes); },
        std::move(tensors), metadata());
  }
}

void SliceWriter::write(size_t index, std::span<const std::byte> bytes) {
  TRIREME_ASSERT(index < slices_.size() && !written_[index], "each slice is written once");
  const SliceToWrite& slice = slices_[index];
  const Shape& extent = slice.slice.extent;
  const Shape& storage = slice.slice.storage;
  const int64_t element_bytes = bytes_of(slice.tensor.dtype);
  TRIREME_ASSERT(static_cast<int64_t>(bytes.size()) == storage.elements() * element_bytes,
                 "a slice is written whole");
  written_[index] = true;
  if (extent.elements() == 0) return;
  if (extent != storage) {
    packed_.resize(static_cast<size_t>(extent.elements() * element_bytes));
    const Shape origin = whole(extent).offset;
    copy_box({.extent = extent, .from = origin, .to = origin}, bytes, storage, packed_, extent,
             element_bytes);
    bytes = packed_;
  }
  SafetensorsWriter& tensors = *files_.at(file_name(slice)).tensors;
  TRIREME_ASSERT(tensors.next_tensor().name == key_of(slice),
                 "slices of one file are written in the order of the list");
  tensors.write(bytes);
  checksums_[index] = checksum(bytes);
}

Contents SliceWriter::finish() {
  Contents contents;
  for (auto& [name, file] : files_) {
    file.tensors->finish();
    file.file->finish();
    contents.files.push_back({.name = name,
                              .bytes = file.tensors->file_bytes(),
                              .head_checksum = file.tensors->head_checksum()});
  }
  for (size_t i = 0; i < slices_.size(); ++i) {
    const SliceToWrite& slice = slices_[i];
    contents.tensors.push_back({.tensor = slice.tensor});
    if (slice.slice.extent.elements() == 0) continue;
    contents.tensors.back().slices.push_back({.region = region_of(slice.slice),
                                              .file = file_name(slice),
                                              .key = key_of(slice),
                                              .checksum = checksums_[i]});
  }
  return merge({&contents, 1});
}

CheckpointWriter::CheckpointWriter(Path root, int64_t iteration, Disk& disk)
    : root_(std::move(root)),
      iteration_(iteration),
      disk_(disk),
      folder_(root_ / format(".{}.tmp-{}", iteration_name(iteration), ::getpid())) {
  create_folders(root_, disk_);
  try_to_clean_up(root_, disk_);
  disk_.create_folder(folder_);
}

CheckpointWriter::~CheckpointWriter() {
  if (!open_) return;
  try {
    clean_up(root_, disk_);
  } catch (...) {
    // The next save tries again; why this one ended is told already.
  }
}

void CheckpointWriter::commit(const RunState& run, std::span<const Contents> parts) {
  TRIREME_ASSERT(open_, "a checkpoint is committed once");
  TRIREME_ASSERT(run.iteration == iteration_, "the run state is of this iteration");
  TRIREME_ASSERT(static_cast<int>(parts.size()) == run.ranks.world_size(), "one part per rank");
  const Manifest manifest = {.run = run, .contents = merge(parts)};
  require_whole(manifest.contents, folder_.string());
  require_files(folder_, manifest.contents);  // that others wrote, perhaps on other hosts
  const std::string text = to_json(manifest);
  const auto file = disk_.create(folder_ / kManifestFile);
  file->write(std::as_bytes(std::span(text)));
  file->finish();
  disk_.sync_folder(folder_);
  place();
  set_latest(root_, iteration_, disk_);
  open_ = false;
  try_to_clean_up(root_, disk_);
}

void CheckpointWriter::place() {
  const Path target = root_ / iteration_name(iteration_);
  if (!is_there(target)) {
    disk_.rename(folder_, target);
  } else if (!disk_.exchange(folder_, target)) {
    // The stand-in is read as long as the name is free, so one of the two is always whole.
    disk_.rename(target, root_ / format(".{}.old", iteration_name(iteration_)));
    disk_.rename(folder_, target);
  }
  disk_.sync_folder(root_);
}

}  // namespace trireme::checkpoint
