#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "schedule/dependencies.h"

namespace trireme::schedule {
namespace {

std::string describe(const Pipeline& pipeline, const Dependencies& dependencies, int node) {
  if (!dependencies.is_message(node)) {
    return format("rank {} {}", dependencies.rank_of(node),
                  dependencies.action(pipeline, node).text());
  }
  const Message& message = dependencies.message(node);
  return format("the message {} from rank {} to rank {}",
                dependencies.action(pipeline, message.send).text(), message.channel.from,
                message.channel.to);
}

std::string words_for(Reason reason) {
  switch (reason) {
    case Reason::order:
      return "comes behind";
    case Reason::input:
      return "needs";
    case Reason::sent:
      return "is sent by";
    case Reason::posted:
      return "is received by";
    case Reason::channel:
      return "goes behind";
    case Reason::send_buffer:
      return "needs a send buffer, free after";
    case Reason::all_received:
      return "waits for";
  }
  return "?";
}

// A node of a cycle, and why it waits for the next one.
struct Link {
  int node = 0;
  Reason reason = Reason::order;
};

// Every node that does not run waits for one that does not either: following them leads round.
std::vector<Link> find_cycle(const Dependencies& dependencies, const std::vector<int>& order) {
  std::vector<bool> runs(dependencies.waits.size(), false);
  for (const int node : order) runs[static_cast<size_t>(node)] = true;
  std::vector<std::ptrdiff_t> place(dependencies.waits.size(), -1);
  std::vector<Link> path;
  auto node = static_cast<size_t>(std::find(runs.begin(), runs.end(), false) - runs.begin());
  while (place[node] < 0) {
    place[node] = static_cast<std::ptrdiff_t>(path.size());
    const std::vector<Wait>& waits = dependencies.waits[node];
    const auto stuck = std::find_if(waits.begin(), waits.end(), [&](const Wait& wait) {
      return !runs[static_cast<size_t>(wait.on)];
    });
    path.push_back({.node = static_cast<int>(node), .reason = stuck->reason});
    node = static_cast<size_t>(stuck->on);
  }
  path.erase(path.begin(), path.begin() + place[node]);
  return path;
}

// Begins where a rank is entered, the first of those in the schedule, so that the actions of a rank
// stand together.
void turn(std::vector<Link>& cycle) {
  size_t best = cycle.size();
  for (size_t i = 0; i < cycle.size(); ++i) {
    const bool entered = cycle[(i + cycle.size() - 1) % cycle.size()].reason != Reason::order;
    if (entered && (best == cycle.size() || cycle[i].node < cycle[best].node)) best = i;
  }
  std::rotate(cycle.begin(), cycle.begin() + static_cast<std::ptrdiff_t>(best % cycle.size()),
              cycle.end());
}

}  // namespace

void require_no_cycle(const Pipeline& pipeline, const Dependencies& dependencies,
                      const std::vector<int>& running_order) {
  if (running_order.size() == dependencies.waits.size()) return;
  std::vector<Link> cycle = find_cycle(dependencies, running_order);
  turn(cycle);
  std::string lines;
  for (size_t i = 0; i < cycle.size(); ++i) {
    const size_t from = i;
    // Of a run of actions of one rank, only the ends.
    while (cycle[i].reason == Reason::order && i + 1 < cycle.size() &&
           cycle[i + 1].reason == Reason::order)
      ++i;
    lines += format("\n  {} {} {}", describe(pipeline, dependencies, cycle[from].node),
                    words_for(cycle[i].reason),
                    describe(pipeline, dependencies, cycle[(i + 1) % cycle.size()].node));
  }
  fail({.where = "schedule",
        .what = "deadlock, each line waits for the next and the last for the first:" + lines});
}

}  // namespace trireme::schedule
