#include "schedule/slots.h"

#include <algorithm>

namespace trireme::schedule {
namespace {

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

// Where an action's value stands in a table [chunk][microbatch].
int& at(std::vector<std::vector<int>>& table, const Action& action) {
  return table[static_cast<size_t>(action.chunk.value)]
              [static_cast<size_t>(action.microbatch.value)];
}

}  // namespace

SlotAssignment assign_slots(const Schedule& schedule) {
  const auto chunks = static_cast<size_t>(schedule.chunks);
  const auto m = static_cast<size_t>(schedule.microbatches);
  const bool trains = schedule.trains();
  SlotAssignment assignment;
  assignment.slot.assign(chunks, std::vector<int>(m, 0));
  assignment.in_flight.assign(chunks, 0);
  assignment.batch_slot.assign(m, 0);
  std::vector<int> actions_left(m, 0);
  for (const Action& action : schedule.actions) {
    if (is_computing(action.kind)) ++actions_left[static_cast<size_t>(action.microbatch.value)];
  }
  const std::vector<int> all_actions = actions_left;
  std::vector<Slots> activations(chunks);
  int held = 0;
  Slots fields;
  for (const Action& action : schedule.actions) {
    if (!is_computing(action.kind)) continue;
    const auto chunk = static_cast<size_t>(action.chunk.value);
    const auto microbatch = static_cast<size_t>(action.microbatch.value);
    int& slot = at(assignment.slot, action);
    int& batch_slot = assignment.batch_slot[microbatch];
    if (actions_left[microbatch] == all_actions[microbatch]) batch_slot = fields.take();
    if (action.kind == ActionKind::forward) {
      slot = activations[chunk].take();
      assignment.chunks_in_flight = std::max(assignment.chunks_in_flight, ++held);
    }
    if (makes_weight_gradient(action.kind) || !trains) {
      activations[chunk].release(slot);
      --held;
    }
    if (--actions_left[microbatch] == 0) fields.release(batch_slot);
  }
  for (size_t chunk = 0; chunk < chunks; ++chunk)
    assignment.in_flight[chunk] = activations[chunk].count();
  assignment.batch_slots = fields.count();
  return assignment;
}

BufferAssignment assign_buffers(const Schedule& schedule) {
  const std::vector<std::vector<int>> none(
      static_cast<size_t>(schedule.chunks),
      std::vector<int>(static_cast<size_t>(schedule.microbatches), -1));
  BufferAssignment assignment;
  for (MessageSlots* slots : {&assignment.send_activation, &assignment.send_gradient,
                              &assignment.receive_activation, &assignment.receive_gradient})
    slots->slot = none;
  const bool trains = schedule.trains();
  int activations_sent = 0;
  int gradients_sent = 0;
  Slots activations;
  Slots gradients;
  const auto release = [](Slots& slots, int slot) {
    if (slot >= 0) slots.release(slot);
  };
  for (const Action& action : schedule.actions) {
    switch (action.kind) {
      case ActionKind::send_activation:
        at(assignment.send_activation.slot, action) = activations_sent++ % kSendBuffers;
        break;
      case ActionKind::send_gradient:
        at(assignment.send_gradient.slot, action) = gradients_sent++ % kSendBuffers;
        break;
      case ActionKind::receive_activation:
        at(assignment.receive_activation.slot, action) = activations.take();
        break;
      case ActionKind::receive_gradient:
        at(assignment.receive_gradient.slot, action) = gradients.take();
        break;
      case ActionKind::forward:
        if (!trains) release(activations, at(assignment.receive_activation.slot, action));
        break;
      case ActionKind::backward:
      case ActionKind::weight_gradient:
        release(activations, at(assignment.receive_activation.slot, action));
        release(gradients, at(assignment.receive_gradient.slot, action));
        break;
      case ActionKind::input_gradient:
      case ActionKind::reduce_wait:
      case ActionKind::step:
        break;
    }
  }
  assignment.send_activation.count = std::min(activations_sent, kSendBuffers);
  assignment.send_gradient.count = std::min(gradients_sent, kSendBuffers);
  assignment.receive_activation.count = activations.count();
  assignment.receive_gradient.count = gradients.count();
  return assignment;
}

}  // namespace trireme::schedule
