#include "schedule/dependencies.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/format.h"
#include "schedule/slots.h"

namespace trireme::schedule {
namespace {

// The nodes of what is done with one chunk of one rank and one microbatch; -1: nothing.
using KindNodes = std::array<int, static_cast<size_t>(ActionKind::reduce_wait)>;

// Finds the node of an action.
class Index {
 public:
  Index(const Pipeline& pipeline, const Dependencies& dependencies)
      : pipeline_(pipeline),
        nodes_(pipeline.ranks.size() * static_cast<size_t>(pipeline.chunks) *
               static_cast<size_t>(pipeline.microbatches)) {
    for (KindNodes& nodes : nodes_) nodes.fill(-1);
    for (int rank = 0; rank < pipeline.stages(); ++rank) {
      int node = dependencies.first[static_cast<size_t>(rank)];
      for (const Action& action : pipeline.ranks[static_cast<size_t>(rank)]) {
        if (has_microbatch(action.kind))
          at({.rank = rank, .chunk = action.chunk},
             action.microbatch)[static_cast<size_t>(action.kind)] = node;
        ++node;
      }
    }
  }

  [[nodiscard]] int forward(const Place& place, MicrobatchId microbatch) {
    return at(place, microbatch)[static_cast<size_t>(ActionKind::forward)];
  }
  // The backward or its first half; -1: forward only.
  [[nodiscard]] int input_gradient(const Place& place, MicrobatchId microbatch) {
    const KindNodes& nodes = at(place, microbatch);
    return std::max(nodes[static_cast<size_t>(ActionKind::backward)],
                    nodes[static_cast<size_t>(ActionKind::input_gradient)]);
  }

 private:
  KindNodes& at(const Place& place, MicrobatchId microbatch) {
    const auto stage = static_cast<size_t>(place.rank) * static_cast<size_t>(pipeline_.chunks) +
                       static_cast<size_t>(place.chunk.value);
    return nodes_[stage * static_cast<size_t>(pipeline_.microbatches) +
                  static_cast<size_t>(microbatch.value)];
  }

  const Pipeline& pipeline_;
  std::vector<KindNodes> nodes_;
};

// The nodes of one side's actions of a channel, in order.
std::vector<int> side_of(const Pipeline& pipeline, const Dependencies& dependencies, int rank,
                         ActionKind kind) {
  std::vector<int> nodes;
  int node = dependencies.first[static_cast<size_t>(rank)];
  for (const Action& action : pipeline.ranks[static_cast<size_t>(rank)]) {
    if (action.kind == kind) nodes.push_back(node);
    ++node;
  }
  return nodes;
}

[[noreturn]] void fail_unmatched(const Channel& channel, const std::string& what) {
  fail({.where = "schedule",
        .what = format("{}: {}", channel.text(), what),
        .rule = "both sides of a channel take its messages in the same order, first in first out"});
}

// The action on the other side of a channel that belongs to a send.
Action receive_of(const Pipeline& pipeline, int rank, const Action& send) {
  const bool gradient = send.kind == ActionKind::send_gradient;
  const auto to = pipeline.neighbour({.rank = rank, .chunk = send.chunk}, gradient ? -1 : 1);
  TRIREME_ASSERT(to, "the rules of one rank refuse messages beyond the ends of the model");
  return {.kind = gradient ? ActionKind::receive_gradient : ActionKind::receive_activation,
          .chunk = to->chunk,
          .microbatch = send.microbatch};
}

void match_channel(const Pipeline& pipeline, int rank, ActionKind send_kind, Index& index,
                   Dependencies& dependencies) {
  const bool gradient = send_kind == ActionKind::send_gradient;
  const Channel channel = channel_of(pipeline, rank, send_kind);
  const std::vector<int> sends = side_of(pipeline, dependencies, rank, send_kind);
  const std::vector<int> receives =
      side_of(pipeline, dependencies, channel.to,
              gradient ? ActionKind::receive_gradient : ActionKind::receive_activation);
  for (size_t k = 0; k < std::max(sends.size(), receives.size()); ++k) {
    if (k >= sends.size()) {
      fail_unmatched(channel, format("rank {} sends {} messages, rank {} receives {}, the last {}",
                                     rank, sends.size(), channel.to, receives.size(),
                                     dependencies.action(pipeline, receives.back()).text()));
    }
    const Action& send = dependencies.action(pipeline, sends[k]);
    const Action expected = receive_of(pipeline, rank, send);
    if (k >= receives.size()) {
      fail_unmatched(channel, format("rank {} sends {}, for which rank {} has no {}", rank,
                                     send.text(), channel.to, expected.text()));
    }
    const Action& received = dependencies.action(pipeline, receives[k]);
    if (received != expected) {
      fail_unmatched(
          channel, format("message {} is sent by {} and so is rank {}'s {}, but {} stands there", k,
                          send.text(), channel.to, expected.text(), received.text()));
    }
    const Place from = {.rank = rank, .chunk = send.chunk};
    const Place to = {.rank = channel.to, .chunk = expected.chunk};
    const auto node_at = [&](const Place& place) {
      return gradient ? index.input_gradient(place, send.microbatch)
                      : index.forward(place, send.microbatch);
    };
    dependencies.messages.push_back({.channel = channel,
                                     .number = static_cast<int>(k),
                                     .producer = node_at(from),
                                     .send = sends[k],
                                     .receive = receives[k],
                                     .consumer = node_at(to)});
  }
}

// Inputs that need no message: the chunk before is on the same rank, or no messages are written.
void add_direct_inputs(const Pipeline& pipeline, Index& index, Dependencies& dependencies) {
  for (int rank = 0; rank < pipeline.stages(); ++rank) {
    for (int c = 0; c < pipeline.chunks; ++c) {
      const Place here = {.rank = rank, .chunk = ChunkId{c}};
      const auto next = pipeline.neighbour(here, 1);
      if (!next) continue;
      for (int k = 0; k < pipeline.microbatches; ++k) {
        const MicrobatchId microbatch{k};
        const auto waits = [&](int node, int on) {
          if (node < 0 || on < 0) return;
          dependencies.waits[static_cast<size_t>(node)].push_back(
              {.on = on, .reason = Reason::input});
        };
        waits(index.forward(*next, microbatch), index.forward(here, microbatch));
        waits(index.input_gradient(here, microbatch), index.input_gradient(*next, microbatch));
      }
    }
  }
}

void add_message_waits(const Pipeline& pipeline, Dependencies& dependencies) {
  // The node of the last reduce_wait or step of each rank waits for the rank's sends.
  std::vector<int> end(pipeline.ranks.size(), -1);
  for (int rank = 0; rank < pipeline.stages(); ++rank) {
    const std::vector<Action>& actions = pipeline.ranks[static_cast<size_t>(rank)];
    const auto found = std::find_if(actions.begin(), actions.end(), [](const Action& action) {
      return !has_microbatch(action.kind);
    });
    if (found != actions.end())
      end[static_cast<size_t>(rank)] =
          dependencies.first[static_cast<size_t>(rank)] + static_cast<int>(found - actions.begin());
  }
  const auto waits = [&](int node, int on, Reason reason) {
    dependencies.waits[static_cast<size_t>(node)].push_back({.on = on, .reason = reason});
  };
  for (size_t i = 0; i < dependencies.messages.size(); ++i) {
    const Message& message = dependencies.messages[i];
    const int node = dependencies.node_of_message(i);
    waits(node, message.send, Reason::sent);
    waits(node, message.receive, Reason::posted);
    if (message.number > 0) waits(node, node - 1, Reason::channel);
    waits(message.consumer, node, Reason::input);
    // Messages of a channel lie one behind the other.
    if (message.number >= kSendBuffers)
      waits(message.producer, node - kSendBuffers, Reason::send_buffer);
    if (const int last = end[static_cast<size_t>(message.channel.from)]; last >= 0)
      waits(last, node, Reason::all_received);
  }
}

}  // namespace

int Dependencies::rank_of(int node) const {
  return static_cast<int>(std::upper_bound(first.begin(), first.end(), node) - first.begin()) - 1;
}

const Action& Dependencies::action(const Pipeline& pipeline, int node) const {
  const auto rank = static_cast<size_t>(rank_of(node));
  return pipeline.ranks[rank][static_cast<size_t>(node - first[rank])];
}

Dependencies dependencies_of(const Pipeline& pipeline) {
  Dependencies dependencies;
  dependencies.first.push_back(0);
  for (const std::vector<Action>& actions : pipeline.ranks)
    dependencies.first.push_back(dependencies.first.back() + static_cast<int>(actions.size()));
  Index index(pipeline, dependencies);
  const bool messages = pipeline.has_messages();
  if (messages) {
    for (int rank = 0; rank < pipeline.stages(); ++rank) {
      match_channel(pipeline, rank, ActionKind::send_activation, index, dependencies);
      match_channel(pipeline, rank, ActionKind::send_gradient, index, dependencies);
    }
  }
  dependencies.waits.resize(static_cast<size_t>(dependencies.actions()) +
                            dependencies.messages.size());
  for (size_t rank = 0; rank < pipeline.ranks.size(); ++rank) {
    for (int node = dependencies.first[rank] + 1; node < dependencies.first[rank + 1]; ++node)
      dependencies.waits[static_cast<size_t>(node)].push_back({.on = node - 1});
  }
  if (messages) {
    add_message_waits(pipeline, dependencies);
  } else {
    add_direct_inputs(pipeline, index, dependencies);
  }
  return dependencies;
}

std::vector<int> running_order(const Dependencies& dependencies) {
  std::vector<std::vector<int>> waiting(dependencies.waits.size());
  std::vector<size_t> left(dependencies.waits.size());
  std::vector<int> order;
  order.reserve(dependencies.waits.size());
  for (int node = 0; node < dependencies.nodes(); ++node) {
    const std::vector<Wait>& waits = dependencies.waits[static_cast<size_t>(node)];
    left[static_cast<size_t>(node)] = waits.size();
    if (waits.empty()) order.push_back(node);
    for (const Wait& wait : waits) waiting[static_cast<size_t>(wait.on)].push_back(node);
  }
  for (size_t at = 0; at < order.size(); ++at) {
    for (const int node : waiting[static_cast<size_t>(order[at])]) {
      if (--left[static_cast<size_t>(node)] == 0) order.push_back(node);
    }
  }
  return order;
}

}  // namespace trireme::schedule
