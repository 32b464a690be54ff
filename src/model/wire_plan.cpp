#include "model/wire_plan.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace trireme::model {
namespace {

using program::Half;
using program::Traffic;
using schedule::ActionKind;

// A rank as a member of one of its groups.
struct Member {
  int64_t place = 0;
  int64_t ranks = 1;

  // Its share of bytes that the group sends between them.
  [[nodiscard]] int64_t share(int64_t bytes) const {
    return bytes * (place + 1) / ranks - bytes * place / ranks;
  }
};

Member member_of(const RunPlan& plan, RankGroup group) {
  const Rank self = plan.topology.rank(plan.at);
  const std::vector<Rank> ranks = plan.topology.group(group, self);
  const auto at = std::find(ranks.begin(), ranks.end(), self);
  return {.place = at - ranks.begin(), .ranks = static_cast<int64_t>(ranks.size())};
}

// Every buffer goes around a ring twice: each byte is sent n - 1 times to be added, and n - 1 times
// to be known.
int64_t all_reduce(const Member& member, int64_t elements) {
  return member.share(2 * (member.ranks - 1) * 4 * elements);
}

void add_op(const RunPlan& plan, const program::Op& op, WireBytes& bytes) {
  if (const auto* reduce = std::get_if<program::AllReduceStart>(&op.spec)) {
    bytes(reduce->group, reduce->traffic) +=
        all_reduce(member_of(plan, reduce->group), reduce->elements);
  } else if (const auto* gather = std::get_if<program::AllGatherStart>(&op.spec)) {
    const auto own = static_cast<size_t>(gather->own);
    bytes(gather->group, gather->traffic) +=
        (member_of(plan, gather->group).ranks - 1) * (gather->cuts[own + 1] - gather->cuts[own]);
  }
}

// Of a program's list of ops, over all instances; of a backward maybe one half.
WireBytes bytes_of(const RunPlan& plan, const program::Program& program,
                   std::vector<program::Op> program::Block::*list,
                   std::optional<Half> half = std::nullopt) {
  WireBytes sum;
  for (const program::Instance& instance : program.instances) {
    for (const program::Op& op : program.blocks[static_cast<size_t>(instance.block)].*list) {
      if (!half || op.half == *half) add_op(plan, op, sum);
    }
  }
  return sum;
}

}  // namespace

int64_t WireBytes::total() const {
  int64_t sum = 0;
  for (const auto& group : of_) sum = std::accumulate(group.begin(), group.end(), sum);
  return sum;
}

WireBytes& WireBytes::operator+=(const WireBytes& other) {
  for (size_t g = 0; g < of_.size(); ++g) {
    for (size_t k = 0; k < of_[g].size(); ++k) of_[g][k] += other.of_[g][k];
  }
  return *this;
}

WireBytes& WireBytes::operator-=(const WireBytes& other) {
  return *this += other * -1;
}

WirePlan::WirePlan(const RunPlan& plan) : actions_(plan.chunks.size() * 2 * kKinds) {
  plan_programs(plan, Mode::train, plan.train);
  plan_programs(plan, Mode::evaluate, plan.evaluate);
  if (plan.step) plan_step(plan);
  gather_ = kGatheredBytes * (plan.topology.world_size() - 1);
}

void WirePlan::plan_programs(const RunPlan& plan, Mode mode,
                             const std::vector<PlacedProgram>& programs) {
  using program::Block;
  for (size_t c = 0; c < programs.size(); ++c) {
    const auto chunk = static_cast<int>(c);
    const program::Program& program = programs[c].program;
    at(mode, ActionKind::forward, chunk) = bytes_of(plan, program, &Block::forward);
    at(mode, ActionKind::backward, chunk) = bytes_of(plan, program, &Block::backward);
    at(mode, ActionKind::input_gradient, chunk) =
        bytes_of(plan, program, &Block::backward, Half::input_gradient);
    at(mode, ActionKind::weight_gradient, chunk) =
        bytes_of(plan, program, &Block::backward, Half::weight_gradient);
    plan_messages(plan, mode, chunk);
  }
}

void WirePlan::plan_messages(const RunPlan& plan, Mode mode, int chunk) {
  const int64_t bytes = plan.boundary_bytes();
  const Member tensor = member_of(plan, RankGroup::tensor);
  for (const auto& [send, receive, traffic] :
       {std::tuple(ActionKind::send_activation, ActionKind::receive_activation,
                   Traffic::activation),
        std::tuple(ActionKind::send_gradient, ActionKind::receive_gradient, Traffic::gradient)}) {
    at(mode, send, chunk)(RankGroup::pipeline, traffic) =
        plan.scatter_gather ? tensor.share(bytes) : bytes;
    if (plan.scatter_gather) {
      at(mode, receive, chunk)(RankGroup::tensor, traffic) =
          tensor.share((tensor.ranks - 1) * bytes);
    }
  }
}

void WirePlan::plan_step(const RunPlan& plan) {
  using program::Block;
  WireBytes& reduce = at(Mode::train, ActionKind::reduce_wait, 0);
  reduce = bytes_of(plan, plan.reduce->program, &Block::forward);
  const Member data = member_of(plan, RankGroup::data);
  for (const Bucket& bucket : plan.buckets) {
    if (bucket.is_tied() || !plan.reduction.overlap) continue;  // the program starts it
    reduce(RankGroup::data, Traffic::gradient) += all_reduce(data, bucket.elements);
  }
  at(Mode::train, ActionKind::step, 0) = bytes_of(plan, plan.step->program, &Block::forward);
}

WireBytes WirePlan::batch(Mode mode, const BatchPlan& batch) const {
  WireBytes sum;
  for (const schedule::Action& action : batch.schedule.actions)
    sum += of(mode, action.kind, action.chunk);
  return sum;
}

}  // namespace trireme::model
