#include "checkpoint/reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "checkpoint/folder.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::checkpoint {
namespace {

/// What a user can do whose checkpoint cannot be opened.
std::string other_checkpoints(const Path& root, std::optional<int64_t> except) {
  std::vector<int64_t> whole = find_whole(root);
  if (except) whole.erase(std::remove(whole.begin(), whole.end(), *except), whole.end());
  if (whole.empty()) return "there is no whole checkpoint in this folder";
  std::string list;
  for (const int64_t iteration : whole) list += format("{}{}", list.empty() ? "" : ", ", iteration);
  return format("choose a whole one with --ckpt-step N: {}", list);
}

/// An error's message without the rank, for use inside another one.
std::string words_of(const Error& error) {
  const Trouble& trouble = error.trouble();
  std::string words = trouble.where + ": " + trouble.what;
  for (const std::string* part : {&trouble.rule, &trouble.remedy}) {
    if (!part->empty()) words += " (" + *part + ")";
  }
  return words;
}

[[noreturn]] void fail_open(const Path& root, std::optional<int64_t> iteration,
                            const std::string& what) {
  fail({.where = root.string(), .what = what, .remedy = other_checkpoints(root, iteration)});
}

}  // namespace

void require_root(const Path& root) {
  if (!std::filesystem::is_directory(root))
    fail({.where = root.string(), .what = "there is no such folder"});
  if (!std::filesystem::exists(root / kManifestFile)) return;
  const Path whole = root.has_filename() ? root : root.parent_path();
  const Path above = whole.has_parent_path() ? whole.parent_path() : Path(".");
  fail({.where = root.string(),
        .what = "this is one checkpoint",
        .rule = "a folder of checkpoints is given, and which of them by its iteration",
        .remedy = format("give --load {} --ckpt-step N", above.string())});
}

CheckpointReader CheckpointReader::open(const Path& root, std::optional<int64_t> iteration) {
  require_root(root);
  std::string why = "chosen";
  if (!iteration) {
    try {
      iteration = latest_iteration(root);
    } catch (const Error& error) {
      fail_open(root, {}, words_of(error));
    }
    if (!iteration) fail_open(root, {}, "no latest_checkpointed_iteration.txt");
    why = "latest_checkpointed_iteration.txt";
  }
  try {
    return of_iteration(root, *iteration);
  } catch (const Error& error) {
    fail_open(root, iteration,
              format("checkpoint of iteration {} ({}) cannot be used: {}", *iteration, why,
                     words_of(error)));
  }
}

CheckpointReader CheckpointReader::of_iteration(const Path& root, int64_t iteration) {
  return {iteration_folder(root, iteration), read_manifest(root, iteration)};
}

CheckpointReader::CheckpointReader(Path folder, Manifest manifest)
    : folder_(std::move(folder)), manifest_(std::move(manifest)) {
  const Contents& contents = manifest_.contents;
  for (size_t i = 0; i < contents.files.size(); ++i) {
    files_[contents.files[i].name] = i;
    in_file_[contents.files[i].name];
  }
  for (size_t i = 0; i < contents.tensors.size(); ++i) {
    tensors_[contents.tensors[i].tensor.name] = i;
    for (size_t j = 0; j < contents.tensors[i].slices.size(); ++j)
      in_file_[contents.tensors[i].slices[j].file].push_back({.tensor = i, .slice = j});
  }
}

const StoredTensor* CheckpointReader::find(std::string_view name) const {
  const auto found = tensors_.find(std::string(name));
  return found == tensors_.end() ? nullptr : &manifest_.contents.tensors[found->second];
}

CheckpointReader::OpenFile& CheckpointReader::opened(const StoredFile& stored) {
  if (const auto found = open_.find(stored.name); found != open_.end()) return found->second;
  const std::string where = (folder_ / stored.name).string();
  SafetensorsFile file(folder_ / stored.name);
  if (checksum(file.head()) != stored.head_checksum || file.file_bytes() != stored.bytes) {
    fail({.where = where,
          .what = "its header is not the one that was saved",
          .rule = "size and checksum are those of the manifest"});
  }
  const std::vector<Place>& places = in_file_.at(stored.name);
  for (const Place& place : places) {
    const StoredTensor& tensor = manifest_.contents.tensors[place.tensor];
    const StoredSlice& slice = tensor.slices[place.slice];
    const TensorSpec expected = {
        .name = slice.key, .dtype = tensor.tensor.dtype, .shape = slice.region.extent};
    const auto index = file.find(slice.key);
    if (!index || file.tensors()[*index] != expected) {
      fail({.where = format("{}: tensor {}", where, tensor.tensor.name),
            .what = index ? format("stored as {}", file.tensors()[*index].text()) : "not there",
            .rule = format("the manifest says {}", expected.text())});
    }
  }
  if (file.tensors().size() != places.size()) {
    fail({.where = where,
          .what = format("{} tensors", file.tensors().size()),
          .rule = format("the manifest says {}", places.size())});
  }
  std::vector<bool> trusted(places.size(), false);
  return open_.emplace(stored.name, OpenFile{std::move(file), std::move(trusted)}).first->second;
}

std::span<const std::byte> CheckpointReader::trusted_bytes(const StoredTensor& stored,
                                                           const StoredSlice& slice) {
  OpenFile& open = opened(manifest_.contents.files[files_.at(slice.file)]);
  const size_t index = *open.file.find(slice.key);
  const std::span<const std::byte> bytes = open.file.bytes(index);
  if (open.trusted[index]) return bytes;
  if (const std::string found = checksum(bytes); found != slice.checksum) {
    fail({.where = format("{}: tensor {}", (folder_ / slice.file).string(), stored.tensor.name),
          .what = format("damaged: checksum {} of elements {}, saved as {}", found,
                         slice.region.text(), slice.checksum),
          .remedy = "choose another checkpoint with --ckpt-step N, or bring the file back"});
  }
  open.trusted[index] = true;
  return bytes;
}

void CheckpointReader::read(const TensorSpec& wanted, const parallel::Slice& slice,
                            std::span<std::byte> out) {
  const std::string where = format("{}: tensor {}", folder_.string(), wanted.name);
  const Region region = region_of(slice);
  const int64_t element_bytes = bytes_of(wanted.dtype);
  TRIREME_ASSERT(lies_in(region, wanted.shape), "a slice lies in its tensor");
  TRIREME_ASSERT(static_cast<int64_t>(out.size()) == slice.storage.elements() * element_bytes,
                 "a slice is read whole");
  const StoredTensor* stored = find(wanted.name);
  if (stored == nullptr || stored->tensor != wanted) {
    fail({.where = where,
          .what = stored == nullptr ? "not in the checkpoint"
                                    : format("the checkpoint has {}", stored->tensor.text()),
          .rule = format("this model wants {}", wanted.text()),
          .remedy = "give the options of the run that saved it"});
  }
  std::vector<Region> regions;
  for (const StoredSlice& piece : stored->slices) regions.push_back(piece.region);
  if (slice.storage != slice.extent) std::memset(out.data(), 0, out.size());
  for (const Copy& copy : cover(region, regions, where)) {
    const StoredSlice& piece = stored->slices[copy.source];
    copy_box(copy, trusted_bytes(*stored, piece), piece.region.extent, out, slice.storage,
             element_bytes);
  }
}

std::vector<std::string> CheckpointReader::damages() {
  std::vector<std::string> found;
  const auto attempt = [&](auto&& check) {
    try {
      check();
      return true;
    } catch (const Error& error) {
      found.push_back(words_of(error));
      return false;
    }
  };
  for (const StoredFile& file : manifest_.contents.files) {
    if (!attempt([&] { static_cast<void>(opened(file)); })) continue;
    for (const Place& place : in_file_.at(file.name)) {
      const StoredTensor& tensor = manifest_.contents.tensors[place.tensor];
      attempt([&] { static_cast<void>(trusted_bytes(tensor, tensor.slices[place.slice])); });
    }
  }
  return found;
}

void CheckpointReader::verify() {
  const std::vector<std::string> found = damages();
  if (found.empty()) return;
  fail({.where = folder_.string(),
        .what = found.size() == 1
                    ? found.front()
                    : format("{} damages, the first: {}", found.size(), found.front())});
}

}  // namespace trireme::checkpoint
