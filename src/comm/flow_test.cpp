// How many messages of a collective are on their way: bounded for each peer by itself.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <utility>

#include "comm/collective.h"
#include "comm/testing/ranks.h"

namespace trireme::comm {
namespace {

using program::Reduction;
using testing::expected_of;
using testing::first_difference;
using testing::Member;
using testing::values_of;

// Hands on one receipt at a time, and knows what is on its way in each queue.
class OneReceipt final : public Transport {
 public:
  OneReceipt(std::unique_ptr<Transport> inner, size_t& most)
      : inner_(std::move(inner)), most_(most) {}

  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  [[nodiscard]] std::string name_of(int rank) const override { return inner_->name_of(rank); }
  [[nodiscard]] int open_group(std::span<const int> ranks) override {
    return inner_->open_group(ranks);
  }
  [[nodiscard]] Ticket send(const Route& route, const Header& header,
                            const std::byte* data) override {
    const Ticket ticket = inner_->send(route, header, data);
    const Queue queue = {route.peer, route.lane};
    queues_[ticket] = queue;
    most_ = std::max(most_, ++on_their_way_[queue]);
    return ticket;
  }
  [[nodiscard]] bool received(Ticket ticket) override {
    if (told_) {
      more_ = true;
      return false;
    }
    told_ = inner_->received(ticket);
    if (told_) --on_their_way_[queues_[ticket]];
    return told_;
  }
  void enter() override {
    told_ = more_ = false;
    inner_->enter();
  }
  void leave() noexcept override { inner_->leave(); }
  [[nodiscard]] const Message* front(const Route& route, std::span<std::byte> into) override {
    return inner_->front(route, into);
  }
  void pop(const Route& route) override { inner_->pop(route); }
  [[nodiscard]] bool knows_of(const Route& route) override { return inner_->knows_of(route); }
  [[nodiscard]] const Message* left_over(int but_group, int but_lane) override {
    return inner_->left_over(but_group, but_lane);
  }
  [[nodiscard]] bool news() override { return more_ || inner_->news(); }
  void rest(std::chrono::nanoseconds most) override {
    if (!more_) inner_->rest(most);
  }
  void withdraw() noexcept override { inner_->withdraw(); }

 private:
  using Queue = std::pair<int, int>;

  std::unique_ptr<Transport> inner_;
  size_t& most_;
  std::map<Ticket, Queue> queues_;
  std::map<Queue, size_t> on_their_way_;
  bool told_ = false;
  bool more_ = false;
};

// Slices of so many pieces that a rank could give all that it may have on its way to one peer.
TEST(Flow, GivesNoPeerTheRoomOfAnother) {
  constexpr int kRanks = 3;
  const int64_t elements = kRanks * 56 * kPieceBytes / 4 + 5;
  std::vector<int> all(kRanks);
  std::iota(all.begin(), all.end(), 0);
  std::vector<size_t> most(kRanks);
  LocalRun run = {.ranks = kRanks};
  run.between = [&](std::unique_ptr<Transport> inner) -> std::unique_ptr<Transport> {
    size_t& its_most = most[static_cast<size_t>(inner->rank())];
    return std::make_unique<OneReceipt>(std::move(inner), its_most);
  };
  testing::run_members(run, [&](Member& member) {
    const auto group = member.port.make_group("all", all);
    std::vector<float> buffer = values_of(group->rank(), 1, elements);
    member.wait(*group,
                group->start_all_reduce(*member.stream, buffer.data(), elements, Reduction::sum));
    EXPECT_EQ(first_difference(buffer, expected_of(Verb::all_reduce, Reduction::sum, all,
                                                   group->rank(), 1, elements)),
              -1);
    member.port.finish(*member.stream);
  });
  for (const size_t its : most) EXPECT_EQ(its, Collective::most_pieces(kRanks, elements * 4));
}

}  // namespace
}  // namespace trireme::comm
