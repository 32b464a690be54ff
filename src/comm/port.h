#pragma once
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/transport.h"
#include "comm/wait.h"

namespace trireme::comm {

class GroupCommunicator;

/// A rank's door to the others: its transport, how it waits, and the groups it is in. Used by the
/// rank's own thread; outlives its communicators.
class Port {
 public:
  Port(std::unique_ptr<Transport> transport, Patience patience);
  ~Port();

  [[nodiscard]] int rank() const { return transport_->rank(); }  ///< in the world
  [[nodiscard]] int size() const { return transport_->size(); }

  /// The group of these ranks of the world, this one among them; ranks of the group count in this
  /// order. All members make the groups that they share in the same order. name: for messages, as
  /// in "tensor".
  [[nodiscard]] std::unique_ptr<Communicator> make_group(std::string name, std::vector<int> ranks);
  /// All ranks, in their order.
  [[nodiscard]] Communicator& world();

  /// What the rank is at, for messages: WaitLoop::set_action.
  void set_action(std::string_view action) { wait_.set_action(action); }

  /// Waits for all ranks to come here, and refuses messages that nobody asked for.
  void finish(device::Stream& stream);

 private:
  friend class GroupCommunicator;

  void meet(device::Stream& stream);
  void progress();
  void wait(FunctionRef<bool()> done, FunctionRef<std::string()> awaited);

  std::unique_ptr<Transport> transport_;
  WaitLoop wait_;
  std::vector<GroupCommunicator*> groups_;
  bool more_ = false;  // something can be done at once
  std::unique_ptr<GroupCommunicator> world_;
};

}  // namespace trireme::comm
