#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "comm/local/world.h"
#include "comm/ring.h"
#include "comm/wait.h"

namespace trireme::comm {

/// A message on its way between threads.
struct Parcel {
  Route from;  ///< as its receiver sees it
  Message message;
  std::atomic<bool>* received = nullptr;  ///< the sender's
};

/// What the others do to a rank.
struct Box {
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Parcel> parcels;     // guarded by mutex
  std::atomic<uint32_t> news = 0;  // counts parcels that came and parcels that were received
  std::atomic<bool> sleeps = false;
  std::atomic<bool> visits = false;  // reads what others lent

  /// There is news.
  void tell() noexcept;
};

struct LocalWorld::State {
  State(int ranks, std::vector<std::string> rank_places);

  [[nodiscard]] std::string name_of(int rank) const;
  /// As messages of the rank begin, "rank 5 = p1 t0 d1".
  [[nodiscard]] std::string place_of(int rank) const;
  /// times: how often this rank opened such a group before.
  [[nodiscard]] int open_group(const std::vector<int>& ranks, int times);
  void end(int rank) noexcept;
  void note_wait(int rank, std::string what);
  /// Throws the cause, which must be there, as an Error of the rank that it came from.
  [[noreturn]] void rethrow(int by) const;

  [[nodiscard]] Silence silence_of(int by, Trouble trouble) const;
  [[noreturn]] void fail_at(int rank, const Trouble& trouble) const;

  std::vector<std::string> places;
  std::deque<Box> boxes;  // by rank
  std::atomic<int> ended_by = -1;
  mutable std::mutex mutex;  // guards what follows
  std::map<std::pair<std::vector<int>, int>, int> groups;
  std::exception_ptr cause;
  std::map<int, std::string> waits;  // of ranks that ended in a wait
};

/// A rank's end of a local world.
class LocalTransport final : public Transport {
 public:
  LocalTransport(LocalWorld::State& world, int rank);
  /// Withdraws if something it lent was not received.
  ~LocalTransport() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(world_.boxes.size()); }
  [[nodiscard]] std::string name_of(int rank) const override { return world_.name_of(rank); }
  [[nodiscard]] int open_group(std::span<const int> ranks) override;
  void reserve(const Route& route, size_t messages) override;
  [[nodiscard]] Ticket send(const Route& route, const Header& header,
                            const std::byte* data) override;
  [[nodiscard]] bool received(Ticket ticket) override;
  void enter() override;
  void leave() noexcept override;
  [[nodiscard]] const Message* front(const Route& route, std::span<std::byte> into) override;
  void pop(const Route& route) override;
  [[nodiscard]] bool knows_of(const Route& route) override { return !queue(route).empty(); }
  [[nodiscard]] const Message* left_over(int but_group, int but_lane) override;
  [[nodiscard]] bool news() override { return box().news.load() != seen_; }
  void rest(std::chrono::nanoseconds most) override;
  void withdraw() noexcept override;
  void note_wait(std::string what) override { world_.note_wait(rank_, std::move(what)); }

 private:
  [[nodiscard]] Box& box() const { return world_.boxes[static_cast<size_t>(rank_)]; }
  [[nodiscard]] Ring<Parcel>& queue(const Route& route);
  void put(const Parcel& parcel);

  LocalWorld::State& world_;
  int rank_;
  uint32_t seen_ = 0;
  size_t reserved_ = 0;                            // messages of all queues
  std::vector<Parcel> came_;                       // taken out of the box
  std::vector<Parcel> early_;                      // of groups that this rank has not opened yet
  std::vector<std::vector<Ring<Parcel>>> queues_;  // by group; by peer and lane
  std::map<std::vector<int>, int> opened_;
  std::deque<std::atomic<bool>> receipts_;  // by ticket
  std::vector<Ticket> free_;
};

}  // namespace trireme::comm
