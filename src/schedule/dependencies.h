#pragma once
#include <string>
#include <vector>

#include "schedule/pipeline.h"

// What waits for what in a pipeline: the one place that says when an action may run. Validation
// looks for cycles in it, the timeline for its longest path, communication insertion for both.

namespace trireme::schedule {

/// A message with the actions that have to do with it, as nodes of the dependencies.
struct Message {
  Channel channel;
  int number = 0;    ///< in its channel
  int producer = 0;  ///< the computing that makes it
  int send = 0;
  int receive = 0;
  int consumer = 0;  ///< the computing that needs it
};

/// Why a node waits for another.
enum class Reason : uint8_t {
  order,         ///< the rank runs its actions one by one
  input,         ///< of another chunk or rank
  sent,          ///< a message waits for its send
  posted,        ///< a message waits for its receive
  channel,       ///< a message waits for the one before it
  send_buffer,   ///< a computing waits until one of its send buffers is free
  all_received,  ///< reduce_wait and step wait until every send is complete
};

struct Wait {
  int on = 0;  ///< a node
  Reason reason = Reason::order;
};

/// Nodes are the actions, rank by rank, and behind them the messages.
struct Dependencies {
  std::vector<int> first;  ///< [rank] node of its first action, and the end
  std::vector<Message> messages = {};
  std::vector<std::vector<Wait>> waits = {};  ///< [node]

  [[nodiscard]] int actions() const { return first.back(); }
  [[nodiscard]] int nodes() const { return static_cast<int>(waits.size()); }
  [[nodiscard]] bool is_message(int node) const { return node >= actions(); }
  [[nodiscard]] int node_of_message(size_t message) const {
    return actions() + static_cast<int>(message);
  }
  [[nodiscard]] const Message& message(int node) const {
    return messages[static_cast<size_t>(node - actions())];
  }
  /// Of an action's node.
  [[nodiscard]] int rank_of(int node) const;
  [[nodiscard]] const Action& action(const Pipeline& pipeline, int node) const;
};

/// Of ranks that keep the rules of one rank (check_rank). Where the pipeline has no messages, each
/// computing waits for its input directly. Throws, naming both actions, where the two sides of a
/// channel do not have the same messages in the same order.
[[nodiscard]] Dependencies dependencies_of(const Pipeline& pipeline);

/// The nodes in an order in which they can run; those in or behind a cycle are left out.
[[nodiscard]] std::vector<int> running_order(const Dependencies& dependencies);

/// Throws where running_order() leaves nodes out: a deadlock, shown as its cycle with rank and
/// action in each line.
void require_no_cycle(const Pipeline& pipeline, const Dependencies& dependencies,
                      const std::vector<int>& running_order);

}  // namespace trireme::schedule
