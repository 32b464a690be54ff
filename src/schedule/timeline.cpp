#include "schedule/timeline.h"

#include <algorithm>

namespace trireme::schedule {

Durations equal_durations(double forward, double backward, int chunks, double message) {
  return {.action =
              [=](int /*rank*/, const Action& action) {
                switch (action.kind) {
                  case ActionKind::forward:
                    return forward / chunks;
                  case ActionKind::backward:
                    return backward / chunks;
                  case ActionKind::input_gradient:
                  case ActionKind::weight_gradient:
                    return backward / chunks / 2;
                  default:
                    return 0.0;
                }
              },
          .message = [=](const Channel&) { return message; }};
}

double Timeline::busy(int rank) const {
  double sum = 0;
  for (const Span& span : ranks[static_cast<size_t>(rank)]) sum += span.end - span.start;
  return sum;
}

double Timeline::shortest_computing() const {
  double shortest = 0;
  for (const std::vector<Span>& spans : ranks) {
    for (const Span& span : spans) {
      const double length = span.end - span.start;
      if (is_computing(span.action.kind) && length > 0 && (shortest == 0 || length < shortest))
        shortest = length;
    }
  }
  return shortest;
}

double Timeline::bubble() const {
  double ideal = 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    ideal = std::max(ideal, busy(static_cast<int>(rank)));
  return ideal > 0 ? (makespan - ideal) / ideal : 0;
}

Timeline timeline(const Pipeline& pipeline, const Durations& durations) {
  const Dependencies dependencies = dependencies_of(pipeline);
  const std::vector<int> order = running_order(dependencies);
  require_no_cycle(pipeline, dependencies, order);
  std::vector<double> start(dependencies.waits.size(), 0);
  std::vector<double> end(dependencies.waits.size(), 0);
  for (const int node : order) {
    const auto n = static_cast<size_t>(node);
    for (const Wait& wait : dependencies.waits[n])
      start[n] = std::max(start[n], end[static_cast<size_t>(wait.on)]);
    double duration = 0;
    if (dependencies.is_message(node)) {
      if (durations.message) duration = durations.message(dependencies.message(node).channel);
    } else {
      const Action& action = dependencies.action(pipeline, node);
      if (durations.action && !is_send(action.kind) && !is_receive(action.kind))
        duration = durations.action(dependencies.rank_of(node), action);
    }
    end[n] = start[n] + duration;
  }
  Timeline timeline;
  for (size_t rank = 0; rank < pipeline.ranks.size(); ++rank) {
    auto node = static_cast<size_t>(dependencies.first[rank]);
    std::vector<Span>& spans = timeline.ranks.emplace_back();
    for (const Action& action : pipeline.ranks[rank]) {
      spans.push_back({.action = action, .start = start[node], .end = end[node]});
      timeline.makespan = std::max(timeline.makespan, end[node]);
      ++node;
    }
  }
  for (size_t i = 0; i < dependencies.messages.size(); ++i) {
    const Message& message = dependencies.messages[i];
    const auto node = static_cast<size_t>(dependencies.node_of_message(i));
    timeline.messages.push_back({.channel = message.channel,
                                 .send = dependencies.action(pipeline, message.send),
                                 .start = start[node],
                                 .end = end[node]});
  }
  return timeline;
}

double ideal_bubble(int stages, int microbatches, int chunks) {
  return static_cast<double>(stages - 1) /
         (static_cast<double>(microbatches) * static_cast<double>(chunks));
}

}  // namespace trireme::schedule
