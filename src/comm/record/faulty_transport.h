#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "comm/ring.h"
#include "comm/transport.h"

namespace trireme::comm {

/// What can become of a message.
enum class Fault {
  none,
  delay,          ///< it comes late, and what is sent after it behind it
  drop,           ///< it does not come
  twice,          ///< it comes twice
  to_other_rank,  ///< it comes to a rank that it was not sent to
  to_other_lane,  ///< it comes in another queue of its receiver
};

/// Which of a rank's messages, counted from 0.
struct Plant {
  Fault fault = Fault::none;
  uint64_t message = 0;
  bool all = false;  ///< from that one on
};

/// What a rank sent, in order: kept apart from the transport, which ends with its rank.
struct SentMessages {
  std::vector<Header> headers;
};

/// A transport between a rank and its own one that notes what is sent and lets one message, or all
/// from one on, come to grief. For tests.
class FaultyTransport final : public Transport {
 public:
  static constexpr std::chrono::milliseconds kDelay{3};  ///< at least so much

  /// sent: not owned.
  FaultyTransport(std::unique_ptr<Transport> inner, Plant plant, SentMessages& sent)
      : inner_(std::move(inner)), plant_(plant), sent_(sent) {}

  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  [[nodiscard]] std::string name_of(int rank) const override { return inner_->name_of(rank); }
  [[nodiscard]] int open_group(std::span<const int> ranks) override {
    return inner_->open_group(ranks);
  }
  void reserve(const Route& route, size_t messages) override { inner_->reserve(route, messages); }
  [[nodiscard]] Ticket send(const Route& route, const Header& header,
                            const std::byte* data) override;
  [[nodiscard]] bool received(Ticket ticket) override;
  void enter() override;
  void leave() noexcept override { inner_->leave(); }
  [[nodiscard]] const Message* front(const Route& route, std::span<std::byte> into) override {
    return inner_->front(route, into);
  }
  void pop(const Route& route) override { inner_->pop(route); }
  [[nodiscard]] bool knows_of(const Route& route) override { return inner_->knows_of(route); }
  [[nodiscard]] const Message* left_over(int but_group, int but_lane) override {
    return inner_->left_over(but_group, but_lane);
  }
  [[nodiscard]] bool news() override { return !late_.empty() || inner_->news(); }
  void rest(std::chrono::nanoseconds most) override;
  void withdraw() noexcept override { inner_->withdraw(); }
  void note_wait(std::string what) override { inner_->note_wait(std::move(what)); }

 private:
  using Clock = std::chrono::steady_clock;
  // A message that is held back; then where its own ticket is.
  struct Late {
    Route route;
    Header header;
    const std::byte* data;
    size_t place;
  };

  std::unique_ptr<Transport> inner_;
  Plant plant_;
  SentMessages& sent_;
  Ring<Late> late_;
  std::vector<Ticket> tickets_;  // of late messages; kLost while they are held back
  Clock::time_point until_;
};

}  // namespace trireme::comm
