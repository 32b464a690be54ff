#include "config/groups/engine.h"

namespace trireme::config {

const Group& EngineOptions::group() {
  using O = EngineOptions;
  static const Group table = {
      "Engine",
      "what the ranks run on",
      {
          field(&O::device, {.name = "device",
                             .help = "what the model is on: cpu, or the name of another kind of "
                                     "device, whose library trireme_NAME.so lies beside the "
                                     "program, or the path of such a library"}),
          field(&O::ranks, {.name = "ranks",
                            .help = "ranks, each a thread of this process; p t d of them",
                            .range = between(1, 1 << 20)}),
          field(&O::threads_per_rank, {.name = "threads-per-rank",
                                       .help = "compute threads of a rank; 0: the cores that this "
                                               "process may use, over its ranks; changes no result",
                                       .range = between(0, 1024)}),
          field(&O::distributed_timeout_minutes,
                {.name = "distributed-timeout-minutes",
                 .help = "how long a rank waits for another one before it ends the run and says "
                         "for whom; only waiting counts",
                 .unit = "minutes",
                 .otherwise = "10",
                 .range = between(1, 1 << 20)}),
          field(&O::distributed_timeout_seconds, {.name = "distributed-timeout-seconds",
                                                  .help = "the same in seconds",
                                                  .unit = "seconds",
                                                  .otherwise = "60 x distributed-timeout-minutes",
                                                  .range = between(1, 1 << 26)}),
      }};
  return table;
}

std::optional<Conflict> EngineOptions::validate() const {
  if (!distributed_timeout_minutes || !distributed_timeout_seconds) return std::nullopt;
  return Conflict{
      .names = {"distributed-timeout-minutes", "distributed-timeout-seconds"},
      .what = "distributed-timeout-minutes and distributed-timeout-seconds are both given",
      .rule = "each of them says how long a rank waits for another one",
      .remedy = "leave one of them out"};
}

}  // namespace trireme::config
