#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "comm/mpi/wire.h"
#include "comm/ring.h"
#include "comm/transport.h"

namespace trireme::comm::mpi {

/// Where the bytes of a message lie until they were received. Bounds the memory that a rank has for
/// messages, whatever the others send:
///     pushed x (ranks that send to it) + room + one message for each queue that is asked for.
/// Frames come beside that, a few hundred bytes for each message that another rank has lent.
struct MpiLimits {
  /// Bytes that follow their frame at once, per pair of ranks; what is more is held until its
  /// receiver fetches it, or travels in its frame.
  int64_t pushed = int64_t{4} << 20;
  /// Bytes that a rank fetches before they are asked for. Messages longer than `pushed` wait for
  /// that, and then come to where they belong without another copy.
  int64_t room = int64_t{16} << 20;
};

/// A rank's end of a world whose ranks are processes under MPI.
///
/// A message is a frame, which says what it is, and its bytes, which come behind it or are fetched;
/// the sender goes on lending until the receipt. Nothing comes without calls: enter() and news()
/// move on what is under way.
class MpiTransport final : public Transport {
 public:
  /// wire: outlives the transport. places: of each rank, as in "p1 t0 d1", for messages; or none.
  MpiTransport(Wire& wire, std::vector<std::string> places, MpiLimits limits = {});
  /// Withdraws if something it lent was not received; leaves word of what it did not ask for.
  ~MpiTransport() override;

  [[nodiscard]] int rank() const override { return wire_.rank(); }
  [[nodiscard]] int size() const override { return wire_.size(); }
  [[nodiscard]] std::string name_of(int rank) const override;
  [[nodiscard]] int open_group(std::span<const int> ranks) override;
  [[nodiscard]] Ticket send(const Route& route, const Header& header,
                            const std::byte* data) override;
  [[nodiscard]] bool received(Ticket ticket) override;
  void enter() override;
  void leave() noexcept override {}
  [[nodiscard]] const Message* front(const Route& route, std::span<std::byte> into) override;
  void pop(const Route& route) override;
  [[nodiscard]] bool knows_of(const Route& route) override { return !queue(route).empty(); }
  [[nodiscard]] const Message* left_over(int but_group, int but_lane) override;
  [[nodiscard]] bool news() override;
  void rest(std::chrono::nanoseconds most) override;
  void withdraw() noexcept override;

 private:
  // What this rank sent, until its receipt.
  struct Loan {
    int peer = 0;
    const std::byte* data = nullptr;
    int64_t bytes = 0;
    int open = 0;  // transfers under way
    bool follows = false;
    bool received = false;
  };
  // What came.
  struct Arrival {
    Message message;
    Route from;
    uint64_t number = 0;   // how many came before
    Ticket ticket = 0;     // of the sender
    bool held = false;     // its sender waits for the fetch
    bool in_room = false;  // fetched before it was asked for
    int open = 0;          // transfers under way
    Buffers::Block block;
    std::array<std::byte, Frame::kMostInside> inside;
  };
  // Asked for and gone, if it has another number now.
  struct Held {
    Arrival* arrival;
    uint64_t number;
  };
  using Queues = std::vector<Ring<Arrival*>>;  // by peer and lane

  [[nodiscard]] int64_t tag_of(Ticket ticket) const;
  [[nodiscard]] Ring<Arrival*>& queue(const Route& route);
  void handle(const Frame& frame, int peer);
  void arrive(const Frame& frame, int peer);
  void put(Arrival* arrival);
  void follow(Loan& loan, Ticket ticket);
  void land(Arrival& arrival);
  void fetch(Arrival& arrival, std::span<std::byte> into);
  void fetch_what_fits();
  void tell(int peer, FrameKind kind, Ticket ticket);

  Wire& wire_;
  std::vector<std::string> places_;
  MpiLimits limits_;
  bool news_ = false;
  std::deque<Loan> loans_;  // by ticket
  std::vector<Ticket> free_loans_;
  std::vector<int64_t> pushed_;  // bytes that follow and were not received, by peer
  std::deque<Arrival> arrivals_;
  std::vector<Arrival*> free_arrivals_;
  uint64_t arrived_ = 0;
  Ring<Held> held_;                         // small ones, in the order in which they came
  int64_t in_room_ = 0;                     // bytes
  std::vector<Arrival*> early_;             // of groups that this rank has not opened yet
  std::unordered_map<int, Queues> queues_;  // by group
  std::map<std::vector<int>, int> opened_;  // how often
};

/// The number of a group in a world of processes: the same at all its members without a word
/// between them. A digest, so two groups may share one, which open_group() refuses.
[[nodiscard]] int number_of_group(std::span<const int> ranks, int times);

}  // namespace trireme::comm::mpi
