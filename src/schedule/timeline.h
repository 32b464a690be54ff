#pragma once
#include <functional>
#include <vector>

#include "schedule/dependencies.h"

namespace trireme::schedule {

/// How long things take, in any unit. A missing function is no time at all.
struct Durations {
  /// Of an action of a pipeline rank that computes, of reduce_wait and of step. Sends and receives
  /// only begin and take no time of the rank.
  std::function<double(int rank, const Action& action)> action = {};
  /// From when a message is sent and its receive is posted to when it is there. Messages of a
  /// channel go one behind the other.
  std::function<double(const Channel& channel)> message = {};
};

/// Equal stages: a rank's forward of one microbatch takes `forward` and its backward `backward`,
/// over all of its chunks; half of it each for input and weight gradients apart.
[[nodiscard]] Durations equal_durations(double forward, double backward, int chunks,
                                        double message = 0);

/// When an action runs: it starts when the rank is there and what it waits for is done.
struct Span {
  Action action;
  double start = 0;
  double end = 0;
};

/// When a message travels.
struct Transfer {
  Channel channel;
  Action send;
  double start = 0;
  double end = 0;
};

/// A run of a pipeline's schedule, as computed from durations.
struct Timeline {
  std::vector<std::vector<Span>> ranks;  ///< [pipeline rank], in order
  std::vector<Transfer> messages;
  double makespan = 0;

  /// Time in actions of a rank.
  [[nodiscard]] double busy(int rank) const;
  [[nodiscard]] double idle(int rank) const { return makespan - busy(rank); }
  /// The shortest computing that takes time; 0 where there is none. A unit for pictures.
  [[nodiscard]] double shortest_computing() const;
  /// What the pipeline costs, as a fraction of the ideal time, which is that of the busiest rank.
  [[nodiscard]] double bubble() const;
};

/// Of a pipeline that validate() accepts, with or without messages. Throws as it does for a
/// deadlock.
[[nodiscard]] Timeline timeline(const Pipeline& pipeline, const Durations& durations);

/// What the paper says of equal stages and free messages: (p - 1) / (v m) of the ideal time (SC'21
/// sections 2.2.1 and 2.2.2).
[[nodiscard]] double ideal_bubble(int stages, int microbatches, int chunks);

}  // namespace trireme::schedule
