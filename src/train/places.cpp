#include "train/places.h"

#include <unistd.h>

#include <cerrno>

#include "checkpoint/fallback.h"
#include "checkpoint/probe.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::train {
namespace {

namespace fs = std::filesystem;

void require_writable(const Path& path, const char* verb) {
  if (::access(path.c_str(), W_OK) != 0) fail_path(verb, path, errno);
}

// A file that is new or is replaced.
void require_file(const Path& path) {
  const Path folder = path.has_parent_path() ? path.parent_path() : Path(".");
  if (!fs::is_directory(folder)) {
    fail({.where = path.string(),
          .what = format("there is no folder {}", folder.string()),
          .remedy = "make the folder, or choose another"});
  }
  if (fs::is_directory(path)) {
    fail({.where = path.string(),
          .what = "a folder",
          .rule = "a file is written here",
          .remedy = format("give a name in it, as in {}", (path / "NAME").string())});
  }
  require_writable(folder, "write into the folder");
}

void require_folder(const Path& path) {
  make_folder(path);
  if (!fs::is_directory(path)) fail_path("create the folder", path, ENOTDIR);
  require_writable(path, "write into the folder");
}

bool saves_where_it_loads(const config::CheckpointOptions& options) {
  std::error_code error;  // one of them is not there: they are not the same
  return options.load && options.save && fs::equivalent(*options.load, *options.save, error);
}

// Launch scripts name one folder for both, --save CK --load CK, so that the same script starts a
// run and continues it. A --load of another folder has to have a checkpoint.
bool nothing_saved_yet(const config::CheckpointOptions& options) {
  return saves_where_it_loads(options) && checkpoint::find_iterations(*options.load).empty() &&
         !checkpoint::latest_iteration(*options.load);
}

}  // namespace

void require_places_to_write(const TrainOptions& options) {
  const config::LoggingOptions& logging = options.logging;
  for (const auto& file : {logging.loss_curve_file, logging.metrics_file, options.debug.trace}) {
    if (file) require_file(*file);
  }
  const config::CheckpointOptions& checkpoints = options.checkpoint;
  for (const auto& folder : {logging.tensorboard_dir, options.debug.dump, checkpoints.save}) {
    if (folder) require_folder(*folder);
  }
  if (!checkpoints.save || saves_where_it_loads(checkpoints)) return;
  const std::vector<int64_t> there = checkpoint::find_iterations(*checkpoints.save);
  if (there.empty()) return;
  fail({.where = "--save " + checkpoints.save->string(),
        .what = format("the folder has checkpoints of an earlier run, the last of iteration {}",
                       *std::max_element(there.begin(), there.end())),
        .rule = "a run saves beside its own checkpoints only",
        .remedy = format("continue that run with --load {}, or save to another folder",
                         checkpoints.save->string())});
}

void require_one_folder(const World& world, const Path& save, double seconds) {
  if (world.size() == 1) return;
  std::optional<checkpoint::Probe> probe;  // until all have looked
  const std::string mark = together(world, [&]() -> std::string {
                             return world.is_first() ? probe.emplace(save).mark() : "";
                           }).front();
  const std::vector<std::string> seen = together(world, [&]() -> std::string {
    if (!checkpoint::sees(save, mark, seconds)) return "";
    require_writable(save, "write into the folder");
    return "seen";
  });
  std::vector<int> blind;
  for (size_t rank = 0; rank < seen.size(); ++rank) {
    if (seen[rank].empty()) blind.push_back(static_cast<int>(rank));
  }
  if (blind.empty()) return;
  fail({.where = "--save " + save.string(),
        .what = format("{} {} not see the folder in which the first rank made a file",
                       ranks_text(blind), blind.size() == 1 ? "does" : "do"),
        .rule = "a checkpoint is one folder, into which all ranks write",
        .remedy = "give a folder of a file system that all hosts of the run share"});
}

std::optional<checkpoint::CheckpointReader> checkpoint_to_continue(
    const config::CheckpointOptions& options) {
  if (!options.load) return std::nullopt;
  if (options.ckpt_step)
    return checkpoint::CheckpointReader::open(*options.load, options.ckpt_step);
  if (nothing_saved_yet(options)) {
    if (options.exit_on_missing_checkpoint)
      return checkpoint::CheckpointReader::open(*options.load);
    say(format("--load {}: nothing was saved there yet, so the run starts anew",
               options.load->string()));
    return std::nullopt;
  }
  checkpoint::NewestWhole found = checkpoint::open_newest_whole(*options.load);
  if (found.passed_over.empty()) return std::move(found.reader);
  const int64_t iteration = found.reader.manifest().run.iteration;
  if (!options.load_newest_whole) {
    fail({.where = "--load " + options.load->string(),
          .what = found.passed_over.front(),
          .rule = "a run continues from the latest checkpoint unless it is told otherwise",
          .remedy = format("give --load-newest-whole to continue from iteration {}, the newest "
                           "checkpoint that is whole",
                           iteration)});
  }
  for (const std::string& message : found.passed_over) warn(message);
  warn(format("{}: continuing from iteration {}, the newest checkpoint that is whole",
              options.load->string(), iteration));
  return std::move(found.reader);
}

checkpoint::Retention retention(const config::CheckpointOptions& options,
                                const std::optional<checkpoint::CheckpointReader>& loaded) {
  return {.keep_last = options.keep_last.value_or(0),
          .retain_interval = options.save_retain_interval.value_or(0),
          .loaded = loaded && saves_where_it_loads(options)
                        ? std::optional(loaded->manifest().run.iteration)
                        : std::nullopt};
}

}  // namespace trireme::train
