#include "program/liveness.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace trireme::program {
namespace {

constexpr int64_t kAlignment = 64;

constexpr int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// A stretch of time in which some bytes are needed. Time counts ops (within a block) or instances
// (within a program).
struct Interval {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
  int64_t offset = 0;

  [[nodiscard]] bool meets(const Interval& other) const {
    return first <= other.last && other.first <= last;
  }
};

// Largest first, each at the lowest offset where it meets nothing that lives at the same time.
// Returns the bytes needed.
int64_t pack(std::vector<Interval>& intervals) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
  std::vector<size_t> placed;
  int64_t top = 0;
  for (const size_t i : order) {
    Interval& interval = intervals[i];
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const size_t j : placed) {
      const Interval& other = intervals[j];
      if (interval.meets(other))
        taken.emplace_back(other.offset, other.offset + aligned(other.bytes));
    }
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + aligned(interval.bytes) <= begin) break;
      offset = std::max(offset, end);
    }
    interval.offset = offset;
    top = std::max(top, offset + aligned(interval.bytes));
    placed.push_back(i);
  }
  return top;
}

// First and last op of each action's list that uses a value.
struct Span {
  int first = -1;
  int last = -1;
  void at(int time) {
    if (first < 0) first = time;
    last = time;
  }
  [[nodiscard]] bool used() const { return first >= 0; }
};
struct BlockUse {
  Span forward, input_gradient, weight_gradient;
  [[nodiscard]] Uses uses() const {
    return {.forward = forward.used(),
            .input_gradient = input_gradient.used(),
            .weight_gradient = weight_gradient.used()};
  }
  [[nodiscard]] const Span& only() const {
    return forward.used() ? forward : input_gradient.used() ? input_gradient : weight_gradient;
  }
};

std::vector<BlockUse> uses_of(const Block& block, BackwardForm form) {
  std::vector<BlockUse> uses(block.values.size());
  int time = 0;
  for (const Op& op : block.forward) {
    for (const int v : op.values) {
      if (v != kNoValue) uses[static_cast<size_t>(v)].forward.at(time);
    }
    ++time;
  }
  time = 0;
  for (const Op& op : block.backward) {
    const bool apart = form == BackwardForm::split && op.half == Half::weight_gradient;
    for (const int v : op.values) {
      if (v == kNoValue) continue;
      BlockUse& use = uses[static_cast<size_t>(v)];
      (apart ? use.weight_gradient : use.input_gradient).at(time);
    }
    ++time;
  }
  return uses;
}

}  // namespace

std::string Uses::text(BackwardForm form) const {
  std::string text;
  const auto add = [&](bool used, const char* letter) {
    if (used) text += (text.empty() ? "" : " to ") + std::string(letter);
  };
  add(forward, "F");
  add(input_gradient, form == BackwardForm::joined ? "B" : "I");
  add(weight_gradient, "W");
  return text;
}

SlotPlan plan_slots(const Program& program, BackwardForm form) {
  SlotPlan plan = {.form = form};

  // Locals, per block.
  std::vector<int64_t> block_saved;
  std::vector<int64_t> block_persistent;
  std::vector<std::vector<BlockUse>> block_uses;
  int64_t block_temporary = 0;
  for (const Block& block : program.blocks) {
    const std::vector<BlockUse>& uses = block_uses.emplace_back(uses_of(block, form));
    std::vector<Placement>& placements = plan.locals.emplace_back(block.values.size());
    int64_t saved = 0;
    // One action's temporaries share memory with another's, as actions never overlap on one rank.
    for (const int action : {0, 1, 2}) {
      std::vector<Interval> intervals;
      std::vector<size_t> which;
      for (size_t v = 0; v < block.values.size(); ++v) {
        if (block.values[v].kind != ValueKind::local) continue;
        const Uses used = uses[v].uses();
        if (used.count() != 1) continue;
        const bool here = action == 0   ? used.forward
                          : action == 1 ? used.input_gradient
                                        : used.weight_gradient;
        if (!here) continue;
        intervals.push_back({.bytes = block.values[v].bytes(),
                             .first = uses[v].only().first,
                             .last = uses[v].only().last});
        which.push_back(v);
      }
      block_temporary = std::max(block_temporary, pack(intervals));
      for (size_t i = 0; i < which.size(); ++i) {
        placements[which[i]] = {.area = Placement::Area::temporary,
                                .offset = intervals[i].offset,
                                .uses = uses[which[i]].uses()};
      }
    }
    for (size_t v = 0; v < block.values.size(); ++v) {
      if (block.values[v].kind != ValueKind::local || uses[v].uses().count() < 2) continue;
      placements[v] = {.area = Placement::Area::saved, .offset = saved, .uses = uses[v].uses()};
      saved += aligned(block.values[v].bytes());
    }
    block_saved.push_back(saved);
    int64_t persistent = 0;
    for (size_t v = 0; v < block.values.size(); ++v) {
      if (block.values[v].kind != ValueKind::persistent) continue;
      placements[v] = {
          .area = Placement::Area::persistent, .offset = persistent, .uses = uses[v].uses()};
      persistent += aligned(block.values[v].bytes());
    }
    block_persistent.push_back(persistent);
  }

  // Flows, over the instances: forward visits them in order, backward in reverse.
  plan.flows.resize(program.flows.size());
  const auto count = static_cast<int>(program.instances.size());
  std::vector<BlockUse> flow_uses(program.flows.size());
  for (int i = 0; i < count; ++i) {
    const Instance& instance = program.instances[static_cast<size_t>(i)];
    const Block& block = program.blocks[static_cast<size_t>(instance.block)];
    for (size_t v = 0; v < block.values.size(); ++v) {
      if (block.values[v].kind != ValueKind::flow || instance.bindings[v] == kNoValue) continue;
      if (block_uses[static_cast<size_t>(instance.block)][v].forward.used()) {
        flow_uses[static_cast<size_t>(instance.bindings[v])].forward.at(i);
      }
    }
  }
  for (int i = count - 1; i >= 0; --i) {
    const Instance& instance = program.instances[static_cast<size_t>(i)];
    const Block& block = program.blocks[static_cast<size_t>(instance.block)];
    for (size_t v = 0; v < block.values.size(); ++v) {
      if (block.values[v].kind != ValueKind::flow || instance.bindings[v] == kNoValue) continue;
      const BlockUse& use = block_uses[static_cast<size_t>(instance.block)][v];
      BlockUse& flow = flow_uses[static_cast<size_t>(instance.bindings[v])];
      if (use.input_gradient.used()) flow.input_gradient.at(count - 1 - i);
      if (use.weight_gradient.used()) flow.weight_gradient.at(count - 1 - i);
    }
  }
  // Results live until they are read behind their action.
  for (const int flow : {program.losses, program.target}) {
    if (flow != kNoValue)
      flow_uses[static_cast<size_t>(flow)].forward = {.first = 0, .last = count};
  }
  // The chunk's ends and logits need no place of the chunk's own.
  for (const int flow : {program.input, program.output, program.output_gradient,
                         program.input_gradient, program.logits, program.own_logits}) {
    if (flow == kNoValue) continue;
    const auto f = static_cast<size_t>(flow);
    plan.flows[f] = {.area = Placement::Area::apart, .uses = flow_uses[f].uses()};
  }
  const auto is_apart = [&](size_t f) { return plan.flows[f].area == Placement::Area::apart; };

  int64_t flow_temporary = 0;
  for (const int action : {0, 1, 2}) {
    std::vector<Interval> intervals;
    std::vector<size_t> which;
    for (size_t f = 0; f < program.flows.size(); ++f) {
      const Uses used = flow_uses[f].uses();
      if (used.count() != 1 || is_apart(f)) continue;
      const bool here = action == 0   ? used.forward
                        : action == 1 ? used.input_gradient
                                      : used.weight_gradient;
      if (!here) continue;
      intervals.push_back({.bytes = program.flows[f].bytes(),
                           .first = flow_uses[f].only().first,
                           .last = flow_uses[f].only().last});
      which.push_back(f);
    }
    flow_temporary = std::max(flow_temporary, pack(intervals));
    for (size_t i = 0; i < which.size(); ++i) {
      plan.flows[which[i]] = {.area = Placement::Area::temporary,
                              .offset = intervals[i].offset,
                              .uses = flow_uses[which[i]].uses()};
    }
  }
  for (size_t f = 0; f < program.flows.size(); ++f) {
    if (flow_uses[f].uses().count() < 2 || is_apart(f)) continue;
    plan.flows[f] = {
        .area = Placement::Area::saved, .offset = plan.saved_bytes, .uses = flow_uses[f].uses()};
    plan.saved_bytes += aligned(program.flows[f].bytes());
  }
  for (const Instance& instance : program.instances) {
    plan.saved_base.push_back(plan.saved_bytes);
    plan.saved_bytes += block_saved[static_cast<size_t>(instance.block)];
    plan.persistent_base.push_back(plan.persistent_bytes);
    plan.persistent_bytes += block_persistent[static_cast<size_t>(instance.block)];
  }
  // Flow temporaries first, a block's own behind them.
  for (std::vector<Placement>& placements : plan.locals) {
    for (Placement& placement : placements) {
      if (placement.area == Placement::Area::temporary) placement.offset += flow_temporary;
    }
  }
  plan.temporary_bytes = flow_temporary + block_temporary;
  return plan;
}

}  // namespace trireme::program
