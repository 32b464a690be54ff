#include "engine/reserve.h"

#include <algorithm>

namespace trireme::engine {
namespace {

// Of collectives that a program starts: each is waited for before few others are started.
constexpr size_t kOfPrograms = 8;

size_t most_receives(const model::RunPlan& plan) {
  int most = 1;  // of decoding
  const auto hold = [&](const model::BatchPlan& batch) {
    most = std::max(
        {most, batch.buffers.receive_activation.count, batch.buffers.receive_gradient.count});
  };
  for (const model::BatchPlan& batch : plan.batches) hold(batch);
  if (plan.evaluation) hold(*plan.evaluation);
  return static_cast<size_t>(most);
}

}  // namespace

void reserve_exchanges(const model::RunPlan& plan, const Groups& groups) {
  const int64_t gradients = plan.memory[model::ArenaKind::gradients];
  int64_t bucket = 0;
  for (const model::Bucket& one : plan.buckets)
    bucket = std::max(bucket, one.elements * bytes_of(DType::f32));
  groups[RankGroup::tensor].reserve({.collectives = kOfPrograms, .bytes = plan.boundary_bytes()});
  groups[RankGroup::data].reserve(
      {.collectives = plan.buckets.size() + kOfPrograms, .bytes = bucket});
  groups[RankGroup::pipeline].reserve({.collectives = kOfPrograms,
                                       .sends = schedule::kSendBuffers,
                                       .receives = most_receives(plan)});
  groups[RankGroup::tied].reserve({.collectives = kOfPrograms, .bytes = gradients});
  groups[RankGroup::model].reserve({.collectives = kOfPrograms});
  groups[RankGroup::world].reserve({.collectives = kOfPrograms});
}

}  // namespace trireme::engine
