#include "schedule/communication.h"

#include <algorithm>
#include <array>
#include <optional>

#include "schedule/timeline.h"
#include "schedule/validate.h"

namespace trireme::schedule {
namespace {

// A message that a rank will receive on one of its channels.
struct Arrival {
  Action receive;
  double time = 0;    // when it is sent
  size_t before = 0;  // index of the action that needs it; once placed, of that which it is before
};

// The message that an action's result makes, and its receive; nothing where none leaves the rank.
struct Outgoing {
  ActionKind send;
  int to;
  Action receive;
};

std::optional<Outgoing> outgoing(const Pipeline& pipeline, int rank, const Action& action) {
  const bool gradient = makes_input_gradient(action.kind);
  if (!gradient && action.kind != ActionKind::forward) return std::nullopt;
  const auto to = pipeline.neighbour({.rank = rank, .chunk = action.chunk}, gradient ? -1 : 1);
  if (!to || to->rank == rank) return std::nullopt;
  return Outgoing{
      .send = gradient ? ActionKind::send_gradient : ActionKind::send_activation,
      .to = to->rank,
      .receive = {.kind = gradient ? ActionKind::receive_gradient : ActionKind::receive_activation,
                  .chunk = to->chunk,
                  .microbatch = action.microbatch}};
}

// Where each rank's computing needs a message: the index of that action.
class Consumers {
 public:
  Consumers(const Pipeline& pipeline, const std::vector<Span>& spans)
      : microbatches_(static_cast<size_t>(pipeline.microbatches)),
        index_(2 * microbatches_ * static_cast<size_t>(pipeline.chunks)) {
    for (size_t at = 0; at < spans.size(); ++at) {
      const Action& action = spans[at].action;
      const bool gradient = makes_input_gradient(action.kind);
      if (gradient || action.kind == ActionKind::forward) index_[place(gradient, action)] = at;
    }
  }
  [[nodiscard]] size_t of(const Action& receive) const {
    return index_[place(receive.kind == ActionKind::receive_gradient, receive)];
  }

 private:
  [[nodiscard]] size_t place(bool gradient, const Action& action) const {
    return (static_cast<size_t>(action.chunk.value) * microbatches_ +
            static_cast<size_t>(action.microbatch.value)) *
               2 +
           (gradient ? 1 : 0);
  }

  size_t microbatches_;
  std::vector<size_t> index_;
};

// Before which of its actions a rank posts the receives of a channel, given in the order in which
// they are sent: while the action runs during which the message comes, one action ahead of the one
// that needs it at the latest, and never out of order.
void place(std::vector<Arrival>& arrivals, const std::vector<Span>& spans) {
  size_t latest = spans.size();
  for (auto arrival = arrivals.rbegin(); arrival != arrivals.rend(); ++arrival) {
    latest = std::min(latest, arrival->before > 0 ? arrival->before - 1 : 0);
    const auto running =
        std::upper_bound(spans.begin(), spans.end(), arrival->time,
                         [](double time, const Span& span) { return time < span.end; });
    arrival->before = std::min(latest, static_cast<size_t>(running - spans.begin()));
  }
}

void end_batch(std::vector<Action>& actions, bool trains) {
  if (!trains) return;
  const auto has = [&](ActionKind kind) {
    return std::any_of(actions.begin(), actions.end(),
                       [&](const Action& action) { return action.kind == kind; });
  };
  if (!has(ActionKind::step)) actions.push_back({.kind = ActionKind::step});
  if (!has(ActionKind::reduce_wait))
    actions.insert(actions.end() - 1, {.kind = ActionKind::reduce_wait});
}

}  // namespace

Pipeline insert_communication(Pipeline pipeline) {
  const bool trains = pipeline.trains();
  for (std::vector<Action>& actions : pipeline.ranks) end_batch(actions, trains);
  validate(pipeline);
  if (pipeline.has_messages() || pipeline.stages() == 1) return pipeline;

  const Timeline ideal = timeline(pipeline, equal_durations(1, 2, 1));
  std::vector<Consumers> consumers;
  for (const std::vector<Span>& spans : ideal.ranks) consumers.emplace_back(pipeline, spans);
  // [rank][activations, gradients]
  std::vector<std::array<std::vector<Arrival>, 2>> arrivals(pipeline.ranks.size());
  for (int rank = 0; rank < pipeline.stages(); ++rank) {
    for (const Span& span : ideal.ranks[static_cast<size_t>(rank)]) {
      const auto message = outgoing(pipeline, rank, span.action);
      if (!message) continue;
      const auto to = static_cast<size_t>(message->to);
      arrivals[to][message->receive.kind == ActionKind::receive_gradient ? 1 : 0].push_back(
          {.receive = message->receive,
           .time = span.end,
           .before = consumers[to].of(message->receive)});
    }
  }
  for (int rank = 0; rank < pipeline.stages(); ++rank) {
    const std::vector<Span>& spans = ideal.ranks[static_cast<size_t>(rank)];
    std::vector<Action>& actions = pipeline.ranks[static_cast<size_t>(rank)];
    actions.clear();
    std::array<size_t, 2> posted = {};
    for (std::vector<Arrival>& channel : arrivals[static_cast<size_t>(rank)]) place(channel, spans);
    for (size_t at = 0; at < spans.size(); ++at) {
      for (size_t kind = 0; kind < posted.size(); ++kind) {
        const std::vector<Arrival>& channel = arrivals[static_cast<size_t>(rank)][kind];
        for (; posted[kind] < channel.size() && channel[posted[kind]].before == at; ++posted[kind])
          actions.push_back(channel[posted[kind]].receive);
      }
      const Action& action = spans[at].action;
      actions.push_back(action);
      if (const auto message = outgoing(pipeline, rank, action))
        actions.push_back(
            {.kind = message->send, .chunk = action.chunk, .microbatch = action.microbatch});
    }
  }
  return pipeline;
}

}  // namespace trireme::schedule
