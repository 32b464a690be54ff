#include "evaluate/batch_scorer.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/format.h"
#include "engine/batch_fields.h"

namespace trireme::evaluate {

BatchScorer::BatchScorer(engine::Session& session) : session_(session) {
  const model::RunPlan& plan = session.plan();
  TRIREME_ASSERT(plan.evaluation && plan.evaluation->microbatches == 1,
                 "scores are read behind each microbatch");
  if (!plan.chunks.back().head) return;
  losses_.resize(static_cast<size_t>(length() * sequences()));
  target_.resize(losses_.size());
  scores_.resize(static_cast<size_t>(sequences()));
}

std::span<const Score> BatchScorer::score(const data::BatchFields& fields) {
  TRIREME_ASSERT(fields.sequences == sequences() && fields.positions_per_sequence == length(),
                 "fields of the session's sizes");
  session_.start_evaluation();
  engine::write_fields(session_, MicrobatchId{0}, fields);
  for (const schedule::Action& action : session_.plan().evaluation->schedule.actions)
    session_.run(action);
  if (scores_.empty()) return {};
  session_.read_losses(losses_);
  session_.read_target(target_);
  std::fill(scores_.begin(), scores_.end(), Score{});
  for (size_t i = 0; i < losses_.size(); ++i) {
    if (fields.loss_mask[i] == 0) continue;
    const size_t sequence = i % scores_.size();
    if (!std::isfinite(losses_[i])) {
      fail({.where = "evaluate",
            .what = format("the loss of token {} at position {} is {}", fields.labels[i],
                           i / scores_.size(), losses_[i]),
            .rule = "a model gives each token a probability above 0",
            .remedy = "load a checkpoint from before its training broke down"});
    }
    scores_[sequence] += {.nats = double{losses_[i]}, .tokens = 1, .hits = target_[i] == 0 ? 1 : 0};
  }
  return scores_;
}

}  // namespace trireme::evaluate
