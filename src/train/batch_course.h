#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "config/groups/batch.h"

namespace trireme::train {

/// The size of the global batch as a function of the samples consumed before it. Constant, or
/// growing: Megatron-LM's linear ramp-up and its list of steps. A pure value, so that a run
/// continued at any position goes on with the size that it would have had.
class BatchCourse {
 public:
  /// From `from` consumed samples on, batches of `batch` sequences.
  struct Stage {
    int64_t from = 0;
    int64_t batch = 0;
    bool operator==(const Stage&) const = default;
  };

  [[nodiscard]] static BatchCourse constant(int64_t batch);
  /// start, start + increment, ... up to batch, each for an equal part of `samples`. increment
  /// divides batch - start.
  [[nodiscard]] static BatchCourse ramp_up(int64_t start, int64_t increment, int64_t samples,
                                           int64_t batch);
  /// "0:768 250B:1536": from so many tokens on (K, M, B and T stand for powers of a thousand)
  /// batches of so many sequences. Throws a usage error unless the first threshold is 0 and they
  /// rise.
  [[nodiscard]] static BatchCourse steps(std::string_view text, int64_t sequence_length);

  /// Size of the batch that begins at this position.
  [[nodiscard]] int64_t at(int64_t consumed_samples) const;
  [[nodiscard]] int64_t largest() const;
  [[nodiscard]] const std::vector<Stage>& stages() const { return stages_; }
  [[nodiscard]] bool is_constant() const { return stages_.size() == 1; }

  /// Batches that are begun and ended within so many samples.
  [[nodiscard]] int64_t iterations_within(int64_t samples) const;
  /// Samples that so many batches consume.
  [[nodiscard]] int64_t samples_of(int64_t iterations) const;

 private:
  explicit BatchCourse(std::vector<Stage> stages) : stages_(std::move(stages)) {}
  std::vector<Stage> stages_;  // ascending, the first from 0
};

/// How long a run is and how large its batches are.
struct RunCourse {
  BatchCourse batch = BatchCourse::constant(1);
  int64_t iterations = 0;  ///< those before a resume included
  int64_t samples = 0;     ///< that the run may consume; its last batch ends at or before them
};

/// The course that the options describe. default_batch: the size where none is given.
[[nodiscard]] RunCourse run_course(const config::BatchOptions& options, int64_t default_batch,
                                   int64_t sequence_length);

}  // namespace trireme::train
