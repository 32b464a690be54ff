#include "checkpoint/folder.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>

#include "checkpoint/strict_json.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::checkpoint {
namespace {

constexpr const char* kLatestFile = "latest_checkpointed_iteration.txt";
constexpr std::string_view kPrefix = "iter_";
constexpr std::string_view kStandIn = ".old";
constexpr std::string_view kTemporary = ".tmp-";

std::optional<int64_t> number(std::string_view digits) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0)
    return std::nullopt;
  return value;
}

/// The iteration of a name as iteration_name writes it.
std::optional<int64_t> iteration_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto iteration = number(std::string_view(name).substr(kPrefix.size()));
  if (!iteration || iteration_name(*iteration) != name) return std::nullopt;
  return iteration;
}

Path stand_in(const Path& root, int64_t iteration) {
  return root / format(".{}{}", iteration_name(iteration), kStandIn);
}

/// The iteration that a name like ".iter_0000100.old" stands in for.
std::optional<int64_t> stands_in_for(const std::string& name) {
  if (!name.starts_with('.') || !name.ends_with(kStandIn)) return std::nullopt;
  return iteration_of(name.substr(1, name.size() - 1 - kStandIn.size()));
}

bool is_temporary(const std::string& name) {
  const bool ours =
      name.starts_with(format(".{}", kPrefix)) || name.starts_with(format(".{}", kLatestFile));
  return ours && name.find(kTemporary) != std::string::npos;
}

std::vector<std::string> names_in(const Path& root) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(root, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error && error != std::errc::no_such_file_or_directory)
    fail_path("read the folder", root, error.value());
  return names;
}

/// Takes the names of checkpoints away, durably, before anything in them goes: a folder that is
/// half removed must not look like a checkpoint.
void discard(const Path& root, const std::vector<Path>& checkpoints, Disk& disk) {
  if (checkpoints.empty()) return;
  std::vector<Path> discarded;
  for (const Path& folder : checkpoints) {
    const std::string name = folder.filename().string();
    discarded.push_back(root / format("{}{}{}{}-discarded", name.starts_with('.') ? "" : ".", name,
                                      kTemporary, ::getpid()));
    disk.rename(folder, discarded.back());
  }
  disk.sync_folder(root);
  for (const Path& folder : discarded) disk.remove_all(folder);
}

}  // namespace

std::string iteration_name(int64_t iteration) {
  return format("{}{:07}", kPrefix, iteration);
}

Path iteration_folder(const Path& root, int64_t iteration) {
  const Path folder = root / iteration_name(iteration);
  const Path old = stand_in(root, iteration);
  return !is_there(folder) && is_there(old) ? old : folder;
}

std::optional<int64_t> latest_iteration(const Path& root) {
  const Path path = root / kLatestFile;
  if (!is_there(path)) return std::nullopt;
  std::string text = read_file(path);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const auto iteration = number(text);
  if (!iteration) {
    fail({.where = path.string(),
          .what = text == "release" ? "\"release\", as Megatron-LM marks converted checkpoints"
                                    : "not the number of an iteration",
          .rule = "the file holds the iteration of the latest checkpoint"});
  }
  return iteration;
}

void require_files(const Path& folder, const Contents& contents) {
  for (const StoredFile& file : contents.files) {
    std::error_code error;
    const uint64_t bytes = std::filesystem::file_size(folder / file.name, error);
    if (error) fail_path("examine", folder / file.name, error.value());
    if (bytes != file.bytes)
      fail_damaged((folder / file.name).string(),
                   format("{} bytes, saved as {}", bytes, file.bytes));
  }
}

Manifest read_manifest(const Path& root, int64_t iteration) {
  const Path folder = iteration_folder(root, iteration);
  const Path path = folder / kManifestFile;
  if (!is_there(folder)) fail_damaged(folder.string(), "there is no such checkpoint");
  if (!is_there(path)) {
    fail_damaged(folder.string(), format("no {}", kManifestFile),
                 is_there(folder / "metadata.json") || is_there(folder / "mp_rank_00")
                     ? "Megatron-LM's own checkpoints cannot be read"
                     : "a whole checkpoint has one");
  }
  Manifest manifest = manifest_from_json(read_file(path), path.string());
  if (manifest.run.iteration != iteration) {
    fail_damaged(path.string(), format("the checkpoint of iteration {}", manifest.run.iteration),
                 format("the folder says iteration {}", iteration));
  }
  require_files(folder, manifest.contents);
  return manifest;
}

std::vector<int64_t> find_iterations(const Path& root) {
  std::vector<int64_t> iterations;
  for (const std::string& name : names_in(root)) {
    if (const auto iteration = iteration_of(name)) iterations.push_back(*iteration);
    if (const auto iteration = stands_in_for(name)) iterations.push_back(*iteration);
  }
  std::sort(iterations.begin(), iterations.end(), std::greater<>());
  iterations.erase(std::unique(iterations.begin(), iterations.end()), iterations.end());
  return iterations;
}

std::vector<int64_t> find_whole(const Path& root) {
  std::vector<int64_t> whole;
  for (const int64_t iteration : find_iterations(root)) {
    try {
      static_cast<void>(read_manifest(root, iteration));
      whole.push_back(iteration);
    } catch (const Error&) {
      // Not whole is what was asked.
    }
  }
  return whole;
}

void set_latest(const Path& root, int64_t iteration, Disk& disk) {
  const Path temporary = root / format(".{}{}{}", kLatestFile, kTemporary, ::getpid());
  const std::string text = format("{}\n", iteration);
  const auto file = disk.create(temporary);
  file->write(std::as_bytes(std::span(text)));
  file->finish();
  disk.rename(temporary, root / kLatestFile);
  disk.sync_folder(root);
}

void clean_up(const Path& root, Disk& disk) {
  std::vector<Path> temporary;
  std::vector<int64_t> stand_ins;
  for (const std::string& name : names_in(root)) {
    if (is_temporary(name)) temporary.push_back(root / name);
    if (const auto iteration = stands_in_for(name)) stand_ins.push_back(*iteration);
  }
  // A temporary folder may have had a checkpoint's name until a moment ago (exchange, discard): as
  // long as that change is not durable, nothing in it may go.
  if (!temporary.empty()) disk.sync_folder(root);
  for (const Path& path : temporary) disk.remove_all(path);

  std::vector<Path> superseded;
  for (const int64_t iteration : stand_ins) {
    if (is_there(root / iteration_name(iteration))) {
      superseded.push_back(stand_in(root, iteration));
    } else {
      disk.rename(stand_in(root, iteration), root / iteration_name(iteration));
    }
  }
  discard(root, superseded, disk);
}

std::vector<int64_t> superfluous(const std::vector<int64_t>& whole, std::optional<int64_t> latest,
                                 const Retention& retention) {
  std::vector<int64_t> gone;
  if (retention.keep_last == 0 && retention.retain_interval == 0) return gone;
  int64_t counted = 0;
  for (const int64_t iteration : whole) {
    if (latest && iteration > *latest) continue;
    const bool newest = counted++ < std::max<int64_t>(retention.keep_last, 1);
    const bool retained =
        retention.retain_interval > 0 && iteration % retention.retain_interval == 0;
    if (!newest && !retained && iteration != latest && iteration != retention.loaded)
      gone.push_back(iteration);
  }
  return gone;
}

std::vector<int64_t> apply_retention(const Path& root, const Retention& retention, Disk& disk) {
  clean_up(root, disk);
  std::vector<int64_t> gone = superfluous(find_whole(root), latest_iteration(root), retention);
  std::vector<Path> folders;
  folders.reserve(gone.size());
  for (const int64_t iteration : gone) folders.push_back(iteration_folder(root, iteration));
  discard(root, folders, disk);
  return gone;
}

}  // namespace trireme::checkpoint
