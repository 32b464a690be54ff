#include "schedule/schedules.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/format.h"

namespace trireme::schedule {
namespace {

// What one (chunk, microbatch) has gone through so far.
struct Progress {
  bool forward = false;
  bool input_gradient = false;
  bool weight_gradient = false;
};

// Slots that are taken and released one by one, the lowest free one first.
class Slots {
 public:
  int take() {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    const auto slot = static_cast<int>(free - taken_.begin());
    if (free == taken_.end()) taken_.push_back(false);
    taken_[static_cast<size_t>(slot)] = true;
    return slot;
  }
  void release(int slot) { taken_[static_cast<size_t>(slot)] = false; }
  [[nodiscard]] int count() const { return static_cast<int>(taken_.size()); }

 private:
  std::vector<bool> taken_;
};

[[noreturn]] void refuse(const Action& action, const std::string& rule) {
  fail({.where = "schedule", .what = format("action {}", action.text()), .rule = rule});
}

}  // namespace

Schedule one_forward_one_backward(PipelineShape shape, int pipeline_rank) {
  const int m = shape.microbatches;
  const int warm_up = std::min(m, shape.stages - pipeline_rank - 1);
  Schedule schedule = {.microbatches = m, .chunks = 1, .actions = {}};
  const auto add = [&](ActionKind kind, int microbatch) {
    schedule.actions.push_back(
        {.kind = kind, .chunk = ChunkId{0}, .microbatch = MicrobatchId{microbatch}});
  };
  for (int k = 0; k < warm_up; ++k) add(ActionKind::forward, k);
  for (int k = warm_up; k < m; ++k) {
    add(ActionKind::forward, k);
    add(ActionKind::backward, k - warm_up);
  }
  for (int k = m - warm_up; k < m; ++k) add(ActionKind::backward, k);
  schedule.actions.push_back({.kind = ActionKind::step});
  return schedule;
}

Schedule forward_only(int microbatches) {
  Schedule schedule = {.microbatches = microbatches, .chunks = 1, .actions = {}};
  for (int k = 0; k < microbatches; ++k) {
    schedule.actions.push_back({.kind = ActionKind::forward, .microbatch = MicrobatchId{k}});
  }
  return schedule;
}

void validate(const Schedule& schedule) {
  const int m = schedule.microbatches;
  std::vector<Progress> progress(static_cast<size_t>(m) * static_cast<size_t>(schedule.chunks));
  std::vector<std::array<int, 4>> last(static_cast<size_t>(schedule.chunks), {-1, -1, -1, -1});
  bool stepped = false;
  bool backwards = false;
  for (const Action& action : schedule.actions) {
    if (stepped) refuse(action, "nothing follows the step");
    if (action.kind == ActionKind::step) {
      stepped = true;
      continue;
    }
    if (action.chunk.value >= schedule.chunks || action.microbatch.value >= m) {
      refuse(action, format("chunks are below {} and microbatches below {}", schedule.chunks, m));
    }
    int& before = last[static_cast<size_t>(action.chunk.value)][static_cast<size_t>(action.kind)];
    if (action.microbatch.value <= before)
      refuse(action, "each kind takes the microbatches of a chunk in ascending order, once");
    before = action.microbatch.value;
    Progress& here =
        progress[static_cast<size_t>(action.chunk.value * m + action.microbatch.value)];
    switch (action.kind) {
      case ActionKind::forward:
        here.forward = true;
        break;
      case ActionKind::backward:
        if (!here.forward || here.input_gradient)
          refuse(action, "a backward follows its forward, once");
        here.input_gradient = here.weight_gradient = backwards = true;
        break;
      case ActionKind::input_gradient:
        if (!here.forward || here.input_gradient)
          refuse(action, "an input gradient follows its forward, once");
        here.input_gradient = backwards = true;
        break;
      case ActionKind::weight_gradient:
        if (!here.input_gradient || here.weight_gradient)
          refuse(action, "a weight gradient follows its input gradient, once");
        here.weight_gradient = true;
        break;
      case ActionKind::step:
        break;
    }
  }
  for (size_t i = 0; i < progress.size(); ++i) {
    const Progress& here = progress[i];
    if (here.forward && here.weight_gradient == backwards) continue;
    fail({.where = "schedule",
          .what =
              format("microbatch {} of chunk {} is not {}", i % static_cast<size_t>(m),
                     i / static_cast<size_t>(m), here.forward ? "finished by a backward" : "in it"),
          .rule = "every microbatch goes forward and then backward once per chunk"});
  }
  if (backwards != stepped) {
    fail({.where = "schedule",
          .what = stepped ? "a step without backwards" : "backwards without a step",
          .rule = "a step stands last exactly where gradients were made"});
  }
}

SlotAssignment assign_slots(const Schedule& schedule) {
  const auto chunks = static_cast<size_t>(schedule.chunks);
  const auto m = static_cast<size_t>(schedule.microbatches);
  const bool trains = std::any_of(schedule.actions.begin(), schedule.actions.end(),
                                  [](const Action& a) { return a.kind == ActionKind::step; });
  SlotAssignment assignment;
  assignment.slot.assign(chunks, std::vector<int>(m, 0));
  assignment.in_flight.assign(chunks, 0);
  assignment.batch_slot.assign(m, 0);
  std::vector<int> actions_left(m, 0);
  for (const Action& action : schedule.actions) {
    if (action.kind != ActionKind::step)
      ++actions_left[static_cast<size_t>(action.microbatch.value)];
  }
  const std::vector<int> all_actions = actions_left;
  std::vector<Slots> activations(chunks);
  Slots fields;
  for (const Action& action : schedule.actions) {
    if (action.kind == ActionKind::step) continue;
    const auto chunk = static_cast<size_t>(action.chunk.value);
    const auto microbatch = static_cast<size_t>(action.microbatch.value);
    int& slot = assignment.slot[chunk][microbatch];
    int& batch_slot = assignment.batch_slot[microbatch];
    if (actions_left[microbatch] == all_actions[microbatch]) batch_slot = fields.take();
    if (action.kind == ActionKind::forward) slot = activations[chunk].take();
    if (action.kind == ActionKind::backward || action.kind == ActionKind::weight_gradient ||
        !trains) {
      activations[chunk].release(slot);
    }
    if (--actions_left[microbatch] == 0) fields.release(batch_slot);
  }
  for (size_t chunk = 0; chunk < chunks; ++chunk)
    assignment.in_flight[chunk] = activations[chunk].count();
  assignment.batch_slots = fields.count();
  return assignment;
}

}  // namespace trireme::schedule
