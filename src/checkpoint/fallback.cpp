#include "checkpoint/fallback.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "checkpoint/folder.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::checkpoint {
namespace {

// What was found; what to do about it is decided here.
std::string finding(const Error& error) {
  Trouble trouble = error.trouble();
  trouble.remedy.clear();
  return text_of(trouble);
}

// All iterations of the folder in the order in which they are wanted.
std::vector<int64_t> candidates(const Path& root, std::optional<int64_t> latest) {
  std::vector<int64_t> iterations = find_iterations(root);
  if (!latest) return iterations;
  std::stable_partition(iterations.begin(), iterations.end(),
                        [&](int64_t iteration) { return iteration <= *latest; });
  // It may be gone, which is worth telling.
  if (iterations.empty() || iterations.front() != *latest)
    iterations.insert(iterations.begin(), *latest);
  return iterations;
}

}  // namespace

NewestWhole open_newest_whole(const Path& root) {
  require_root(root);
  std::vector<std::string> passed_over;
  std::optional<int64_t> latest;
  try {
    latest = latest_iteration(root);
    if (!latest) passed_over.push_back("there is no latest_checkpointed_iteration.txt");
  } catch (const Error& error) {
    passed_over.push_back(finding(error));
  }
  for (const int64_t iteration : candidates(root, latest)) {
    try {
      CheckpointReader reader = CheckpointReader::of_iteration(root, iteration);
      reader.verify();
      return {.reader = std::move(reader), .passed_over = std::move(passed_over)};
    } catch (const Error& error) {
      passed_over.push_back(finding(error));
    }
  }
  std::string what = "there is no whole checkpoint in this folder";
  for (const std::string& message : passed_over) what += "; " + message;
  fail({.where = root.string(),
        .what = what,
        .remedy = "check the folder, or leave --load out to start a new run"});
}

}  // namespace trireme::checkpoint
