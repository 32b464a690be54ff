#include "model/batch_plan.h"

#include "schedule/validate.h"

namespace trireme::model {

using schedule::Action;
using schedule::Pipeline;
using schedule::ScheduleKind;

BatchPlan plan_batch(const Pipeline& pipeline, int pipeline_rank) {
  schedule::validate(pipeline);
  BatchPlan plan = {.microbatches = pipeline.microbatches, .schedule = pipeline.of(pipeline_rank)};
  plan.assignment = schedule::assign_slots(plan.schedule);
  plan.buffers = schedule::assign_buffers(plan.schedule);
  const auto chunks = static_cast<size_t>(pipeline.chunks);
  plan.first.assign(chunks, MicrobatchId{-1});
  plan.last.assign(chunks, MicrobatchId{-1});
  for (const Action& action : plan.schedule.actions) {
    if (!schedule::makes_weight_gradient(action.kind)) continue;
    const auto chunk = static_cast<size_t>(action.chunk.value);
    if (plan.first[chunk].value < 0) plan.first[chunk] = action.microbatch;
    plan.last[chunk] = action.microbatch;
  }
  return plan;
}

Pipeline training_order(const OrderRules& rules, int microbatches) {
  const ScheduleKind kind = rules.kind.value_or(
      rules.chunks > 1 ? ScheduleKind::interleaved : ScheduleKind::one_forward_one_backward);
  return schedule::make_pipeline(kind, {.stages = rules.stages,
                                        .microbatches = microbatches,
                                        .chunks = rules.chunks,
                                        .group = rules.group});
}

Pipeline evaluation_order(const OrderRules& rules, int microbatches) {
  return schedule::make_pipeline(
      ScheduleKind::forward_only,
      {.stages = rules.stages, .microbatches = microbatches, .chunks = rules.chunks});
}

}  // namespace trireme::model
