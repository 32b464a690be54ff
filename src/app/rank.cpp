#include "app/rank.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"

namespace trireme::app {
namespace {

int one_rank(const config::EngineOptions& options) {
  if (options.ranks != 1) {
    fail_usage({.where = "--ranks",
                .what = format("{} ranks", options.ranks),
                .rule = "this version runs one rank; it plans any number with --dry-run",
                .remedy = "leave the option out"});
  }
  return threads_of(options);
}

}  // namespace

int threads_of(const config::EngineOptions& options) {
  if (options.threads_per_rank > 0) return static_cast<int>(options.threads_per_rank);
  return std::max(1, usable_cores() / static_cast<int>(options.ranks));
}

LocalRank::LocalRank(const config::EngineOptions& options) : cpu(one_rank(options)) {}

}  // namespace trireme::app
