#include "engine/messages.h"

#include <algorithm>
#include <charconv>

#include "comm/order.h"
#include "core/error.h"

namespace trireme::engine {

using comm::Traffic;
using model::ArenaKind;
using schedule::Action;
using schedule::ActionKind;
using schedule::BufferAssignment;

Messages::Messages(const model::RunPlan& plan, const RankMemory& memory, Exchanges& exchanges)
    : plan_(plan), memory_(memory), exchanges_(exchanges), boundary_bytes_(plan.boundary_bytes()) {
  int most = 0;
  for (const model::BatchPlan& batch : plan.batches) most = std::max(most, batch.microbatches);
  if (plan.evaluation) most = std::max(most, plan.evaluation->microbatches);
  received_activations_.resize(plan.chunks.size() * static_cast<size_t>(most));
  received_gradients_.resize(received_activations_.size());
}

const Messages::Way& Messages::way_of(ActionKind kind) {
  static constexpr std::array<Way, 4> kWays = {{
      {ArenaKind::sent_activations, &BufferAssignment::send_activation, Traffic::activation, false},
      {ArenaKind::received_activations, &BufferAssignment::receive_activation, Traffic::activation,
       true},
      {ArenaKind::sent_gradients, &BufferAssignment::send_gradient, Traffic::gradient, true},
      {ArenaKind::received_gradients, &BufferAssignment::receive_gradient, Traffic::gradient,
       false},
  }};
  TRIREME_ASSERT(schedule::is_send(kind) || schedule::is_receive(kind), "a message's action");
  return kWays[static_cast<size_t>(kind) - static_cast<size_t>(ActionKind::send_activation)];
}

int Messages::peer_of(const Way& way) const {
  const int p = plan_.topology.pipeline();
  return (plan_.at.pipeline + (way.from_behind ? p - 1 : 1)) % p;
}

int Messages::slot(const Way& way, const Action& action) const {
  return (batch_->buffers.*way.slots)
      .slot[static_cast<size_t>(action.chunk.value)][static_cast<size_t>(action.microbatch.value)];
}

std::byte* Messages::buffer(const Way& way, int slot) const {
  return memory_.base(way.arena) + plan_.message_bytes * slot;
}

UnderWay& Messages::receipt(const Way& way, const Action& action) {
  auto& receipts = way.traffic == Traffic::activation ? received_activations_ : received_gradients_;
  return receipts[static_cast<size_t>(action.chunk.value * batch_->microbatches +
                                      action.microbatch.value)];
}

// What was made by the sender: virtual stage, kind and microbatch, as in "5F3".
comm::Label Messages::label(ActionKind kind, const Action& action) const {
  const Way& way = way_of(kind);
  const bool is_gradient = way.traffic == Traffic::gradient;
  int stage = action.chunk.value * plan_.topology.pipeline() + plan_.at.pipeline;
  if (schedule::is_receive(kind)) stage += is_gradient ? 1 : -1;
  std::array<char, 15> text = {};
  char* at = std::to_chars(text.data(), text.data() + 6, stage).ptr;
  *at++ = is_gradient ? 'B' : 'F';
  at = std::to_chars(at, text.data() + text.size() - 1, action.microbatch.value).ptr;
  return std::string_view(text.data(), static_cast<size_t>(at - text.data()));
}

std::pair<int64_t, int64_t> Messages::part(int64_t bytes) const {
  if (!plan_.scatter_gather) return {0, bytes};
  const int t = plan_.topology.tensor();
  return {comm::cut(bytes, t, plan_.at.tensor), comm::cut(bytes, t, plan_.at.tensor + 1)};
}

void Messages::start(const model::BatchPlan& batch) {
  TRIREME_ASSERT(receiving_ == 0, "what was received is used in its batch");
  batch_ = &batch;
}

UnderWay Messages::start(comm::Verb verb, const Way& way, std::byte* buffer, int64_t bytes,
                         const comm::Label& what) {
  const auto [begin, end] = part(bytes);
  return exchanges_.start(RankGroup::pipeline, {.verb = verb,
                                                .traffic = way.traffic,
                                                .buffer = buffer + begin,
                                                .bytes = end - begin,
                                                .peer = peer_of(way),
                                                .what = what});
}

void Messages::receive(const Action& action) {
  const Way& way = way_of(action.kind);
  receipt(way, action) = start(comm::Verb::receive, way, buffer(way, slot(way, action)),
                               boundary_bytes_, label(action.kind, action));
  ++receiving_;
}

void Messages::send(const Action& action) {
  const Way& way = way_of(action.kind);
  const int buffer_number = slot(way, action);
  auto& sent = way.traffic == Traffic::activation ? sent_activations_ : sent_gradients_;
  sent[static_cast<size_t>(buffer_number)] =
      start(comm::Verb::send, way, buffer(way, buffer_number), boundary_bytes_,
            label(action.kind, action));
}

void Messages::before(const Action& computing) {
  const bool forward = computing.kind == ActionKind::forward;
  if (!forward && !schedule::makes_input_gradient(computing.kind)) return;
  const Way& in = way_of(forward ? ActionKind::receive_activation : ActionKind::receive_gradient);
  const Way& out = way_of(forward ? ActionKind::send_activation : ActionKind::send_gradient);
  if (const int from = slot(in, computing); from >= 0) {
    complete_receive(receipt(in, computing), buffer(in, from), boundary_bytes_);
  }
  if (const int to = slot(out, computing); to >= 0) {
    auto& sent = forward ? sent_activations_ : sent_gradients_;
    complete_send(sent[static_cast<size_t>(to)]);
  }
}

void Messages::complete_receive(UnderWay& receipt, std::byte* buffer, int64_t bytes) {
  const Traffic traffic = receipt.exchange.traffic;
  exchanges_.wait(receipt);
  --receiving_;
  if (!plan_.scatter_gather) return;
  UnderWay gathering = exchanges_.start(
      RankGroup::tensor,
      {.verb = comm::Verb::all_gather, .traffic = traffic, .buffer = buffer, .bytes = bytes});
  exchanges_.wait(gathering);
}

void Messages::complete_send(UnderWay& sending) {
  if (!sending.is_none()) exchanges_.wait(sending);
}

void Messages::finish() {
  for (UnderWay& sending : sent_activations_) complete_send(sending);
  for (UnderWay& sending : sent_gradients_) complete_send(sending);
}

void Messages::put_buffers(const Action& computing, Slots& slots) const {
  const auto number = [&](ActionKind kind) { return std::max(0, slot(way_of(kind), computing)); };
  slots.received_activation = number(ActionKind::receive_activation);
  slots.sent_activation = number(ActionKind::send_activation);
  slots.received_gradient = number(ActionKind::receive_gradient);
  slots.sent_gradient = number(ActionKind::send_gradient);
}

void Messages::receive_activation_now(int64_t bytes) {
  const Way& way = way_of(ActionKind::receive_activation);
  UnderWay receipt = start(comm::Verb::receive, way, buffer(way, 0), bytes, {});
  ++receiving_;
  complete_receive(receipt, buffer(way, 0), bytes);
}

void Messages::send_activation_now(int64_t bytes) {
  const Way& way = way_of(ActionKind::send_activation);
  sent_activations_[0] = start(comm::Verb::send, way, buffer(way, 0), bytes, {});
}

}  // namespace trireme::engine
