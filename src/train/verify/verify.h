#pragma once
#include <functional>
#include <memory>

#include "core/thread_pool.h"
#include "data/feed.h"
#include "engine/groups.h"
#include "ops/kernel.h"
#include "train/batch_course.h"
#include "train/learning_rate.h"
#include "train/trainer.h"
#include "train/verify/report.h"

// Whether a run that is cut over ranks computes what one rank computes: both take the same steps
// from the same state, and everything that a step makes is compared. docs/verify.md.

namespace trireme::train {

/// A run that is to be verified, as it was decided. All ranks say the same, but for request.at.
struct Verification {
  const model::RunRequest& request;  ///< of this rank
  std::shared_ptr<const data::Batches> data;
  const BatchCourse& course;
  LearningRate rate = {};
  uint32_t seed = 0;
  data::FeedOptions reading = {};
  bool overfit = false;  ///< every step takes the samples of the first
  int steps = 3;
  /// Whether the bits of one rank are promised where neither t nor d changes the order of sums:
  /// not on another device, and not by an order of microbatches of one's own.
  bool same_bits = true;
  /// Fills the weights, and the moments where a run is continued, of a session in any layout;
  /// returns where the run stands. Called for both runs.
  std::function<Position(engine::Session& session, ThreadPool& pool)> start;
};

/// The machine of one rank of it.
struct VerifyRank {
  ops::Backend backend;
  engine::Groups groups;
  comm::Communicator& world;  ///< all ranks, over memory of the host
  device::Stream& host_stream;
  ThreadPool& pool;
  int one_rank_threads = 1;  ///< of the one-rank run, which the first rank has on its cores
};

/// What the plan of the one-rank run is made from: the same model and global batches.
[[nodiscard]] model::RunRequest one_rank_request(const model::RunRequest& request, int threads);

/// Takes the steps and compares. Called by all ranks, which get the same report. Each step:
///   both runs have the weights and moments of the one-rank run (vectors that begin as all zeros or
///   ones are first moved off, so that every tensor has a part in the numbers);
///   both take the step: values between ops, loss, gradients, norm and moments are compared;
///   the run that is verified steps its optimizer again, from the state before and the one-rank
///   run's gradients: the update is compared. (Adam makes a full step of the rounding noise where a
///   gradient is zero, as the key bias's is, so weights of two free runs are not comparable.)
/// The other ranks wait while the first one runs the one-rank run.
[[nodiscard]] VerifyReport verify(const Verification& run, const VerifyRank& rank);

}  // namespace trireme::train
