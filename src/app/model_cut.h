#pragma once
#include "app/ranks.h"
#include "checkpoint/reader.h"
#include "config/groups/parallel.h"
#include "config/option_set.h"
#include "model/run_plan.h"
#include "train/agreement.h"

// How a trained model lies on the ranks of a subcommand that uses it.

namespace trireme::app {

struct ModelCut {
  parallel::Topology topology = {};
  /// One chunk for each stage. Their weights are balanced: what a forward computes and what
  /// decoding reads is about in proportion to them.
  parallel::Layout layout = {};
  bool scatter_gather = false;

  /// What is asked of a rank, whose programs are the caller's to add.
  [[nodiscard]] model::RunRequest request(const model::GptShape& shape, LocalRank& rank) const;
};

/// Usage error, with rule and nearest values, where the model cannot be cut so. d follows from the
/// number of ranks.
[[nodiscard]] ModelCut cut_model(const config::ParallelOptions& options, const Ranks& ranks,
                                 const model::GptShape& shape);

/// The checkpoint that is read, for require_one_mind().
[[nodiscard]] train::Subject checkpoint_subject(const checkpoint::CheckpointReader& reader);

}  // namespace trireme::app
