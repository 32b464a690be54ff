#pragma once
#include <memory>
#include <string>
#include <vector>

#include "comm/collective.h"
#include "comm/communicator.h"
#include "comm/lanes.h"
#include "comm/port.h"
#include "comm/ring.h"

namespace trireme::comm {

/// A group over host memory, whatever moves its messages. Made by a port.
class GroupCommunicator final : public Communicator {
 public:
  GroupCommunicator(Port& port, std::string name, std::vector<int> ranks);
  /// Withdraws.
  ~GroupCommunicator() override;

  [[nodiscard]] int rank() const override { return lanes_.rank(); }
  [[nodiscard]] int size() const override { return lanes_.size(); }
  void reserve(const MostUnderWay& most) override;
  [[nodiscard]] Request start(device::Stream& stream, const Exchange& exchange) override;
  void progress() override { port_.progress(); }
  void wait(Request request, device::Stream& stream) override;
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> completed(
      Request request) const override;
  void withdraw() noexcept override;
  [[nodiscard]] BytesSent bytes_sent() const override { return lanes_.bytes_sent(); }
  void set_action(std::string_view action) override { port_.set_action(action); }

  /// Moves on what is under way in this group. Returns whether there was more to do. Called inside
  /// the transport's enter() and leave().
  bool step();
  /// Transport::open_group.
  [[nodiscard]] int number() const { return lanes_.number(); }
  [[nodiscard]] bool idle() const { return under_way_ == 0; }

 private:
  // An exchange from its start to its wait. Kept for the next one.
  struct Pending {
    Exchange exchange;
    uint64_t number = 0;  // of its request; 0: free
    bool done = false;
    std::chrono::steady_clock::time_point completed;  // when done
    Ticket ticket = 0;                                // of a send
    uint64_t sequence = 0;                            // of a send or receive
    Collective collective;
  };

  Pending& take();
  [[nodiscard]] Pending& pending_of(Request request) const;
  void finish(Pending& pending);
  Ring<Pending*>& receives(int peer, Traffic traffic) {
    return receives_[static_cast<size_t>(peer) * kTraffics + static_cast<size_t>(traffic)];
  }
  void step_sends();
  void step_receives();
  void receive(Ring<Pending*>& queue);
  bool step_collectives();
  [[nodiscard]] std::string awaited(const Pending& pending);

  Port& port_;
  Lanes lanes_;
  std::vector<std::unique_ptr<Pending>> pending_;
  uint64_t uses_ = 0;
  int under_way_ = 0;  // started and not done
  std::vector<Pending*> sends_;
  std::vector<Ring<Pending*>> receives_;  // by peer and kind of traffic
  int receiving_ = 0;
  std::vector<Pending*> collectives_;  // in the order of their starts
};

}  // namespace trireme::comm
