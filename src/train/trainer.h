#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "data/feed.h"
#include "engine/session.h"
#include "train/batch_course.h"
#include "train/learning_rate.h"
#include "train/together.h"

namespace trireme::train {

/// Where a run stands. Everything else follows from it and the options.
struct Position {
  int64_t iteration = 0;          ///< global batches done
  int64_t consumed_samples = 0;   ///< the position in the data
  int64_t scheduler_samples = 0;  ///< of batches that ended in an update: the learning rate's
  int64_t adam_step = 0;          ///< updates done
  bool operator==(const Position&) const = default;
};

/// What one global batch showed.
struct StepReport {
  int64_t iteration = 0;  ///< counts from 1
  int64_t consumed_samples = 0;
  double loss = 0;           ///< nats per counted token of the global batch
  double gradient_norm = 0;  ///< before clipping
  bool skipped = false;      ///< the gradient was not finite: nothing was updated
  double learning_rate = 0;  ///< the one that was used
  double seconds = 0;
  int64_t global_batch = 0;  ///< B of this step, sequences
  int64_t tokens = 0;        ///< s B
  double flops = 0;          ///< of all ranks, as the paper counts them
  double vote = 0;           ///< the largest of the ranks' votes
};

/// One rank's training: each step runs the schedule and steps the optimizer.
class Trainer {
 public:
  /// The session has a training program and a plan for each batch of the course, and outlives the
  /// trainer. seed keys every dropout mask. reading: how far the data are read ahead.
  Trainer(engine::Session& session, std::shared_ptr<const data::Batches> batches,
          const BatchCourse& course, const LearningRate& rate, uint32_t seed,
          const data::FeedOptions& reading = {});

  [[nodiscard]] const Position& position() const { return position_; }
  /// Whether the weights are those of position(): a step that failed may have changed some of them.
  [[nodiscard]] bool weights_are_whole() const { return !stepping_; }
  /// Every step takes the samples of the first batch; positions count on.
  void overfit() { overfit_ = true; }
  /// Continues from a saved position.
  void resume(const Position& position) { position_ = position; }

  /// Where the host's time of the steps went so far, and how long they took.
  [[nodiscard]] const engine::HostTimes& times() const { return times_; }
  [[nodiscard]] double seconds() const { return seconds_; }

  /// Asked on every rank behind each step; all come to know the largest.
  void ask(std::function<double()> vote) { vote_ = std::move(vote); }

  /// One global batch: forward and backward of every microbatch by the schedule, gradients joined,
  /// one optimizer step. Called by all ranks, which get the same report but for the seconds. Where
  /// the gradient is not finite no weight, moment or count of updates changes; the data are
  /// consumed.
  StepReport step();

  /// Runs the last batch again, watching every op: where its first number that is not finite
  /// appeared, on which rank, with the samples of that microbatch. For a batch that was skipped,
  /// whose weights are still the same. Called by all ranks, which get the same.
  [[nodiscard]] std::string find_non_finite(const World& world);

 private:
  void write_step_scalars(double learning_rate, int64_t counted_tokens);
  void forward_backward(const data::GlobalBatch& batch);
  void step_optimizer();
  void gather(StepReport& report);

  engine::Session& session_;
  data::BatchFeed feed_;
  LearningRate rate_;
  std::function<double()> vote_;
  std::vector<double> gathered_;  // [world rank][number]
  engine::HostTimes times_;
  double seconds_ = 0;
  Position position_;
  int64_t last_first_ = 0;  // sample with which the last batch began
  bool overfit_ = false;
  bool stepping_ = false;  // the optimizer's step is under way
};

/// The loss of all data ranks in their order, each from its last stage. totals: of every rank, by
/// world rank, `stride` numbers apart.
[[nodiscard]] double sum_losses(const parallel::Topology& topology, std::span<const double> totals,
                                size_t stride);

/// Called by all ranks, which get the same: mean loss in nats per counted token over `samples`
/// samples from position `first` of some held-out data, by the plan's evaluation; a multiple of the
/// samples of its batches.
[[nodiscard]] double evaluate_loss(engine::Session& session,
                                   std::shared_ptr<const data::Batches> batches, int64_t first,
                                   int64_t samples, const data::FeedOptions& reading = {});

}  // namespace trireme::train
