#pragma once
// Runs in which one of eight ranks throws while the others are at work.

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "core/error.h"
#include "cut_ranks.h"

namespace trireme {

/// What a failing rank throws.
enum class Thrown { error, other, bad_alloc };

inline void throw_planted(Thrown thrown) {
  switch (thrown) {
    case Thrown::error:
      fail({.where = "here", .what = "planted"});
    case Thrown::other:
      throw std::runtime_error("here: planted");
    case Thrown::bad_alloc:
      throw std::bad_alloc();
  }
}

/// Throws in one moment of what a session does: before and behind every action, behind every op and
/// exchange.
class FailsAt final : public engine::Observer {
 public:
  FailsAt(int64_t moment, Thrown thrown) : moment_(moment), thrown_(thrown) {}
  void begin(const schedule::Action&) override { next(); }
  void op(const engine::OpRecord&) override { next(); }
  void exchange(const engine::ExchangeRecord&) override { next(); }
  void end(const schedule::Action&) override { next(); }
  [[nodiscard]] int64_t moments() const { return moments_; }

 private:
  void next() {
    if (moments_++ == moment_) throw_planted(thrown_);
  }
  int64_t moment_;
  Thrown thrown_;
  int64_t moments_ = 0;
};

/// The message of a run that fails; empty where it does not.
inline std::string failure_of(const EightRanks& eight,
                              const std::function<void(comm::Port& port)>& body) {
  try {
    comm::run_ranks({.ranks = EightRanks::kRanks,
                     .places = eight.places,
                     .patience = {.limit = std::chrono::minutes(2)}},
                    body);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// A step and an evaluation. moments: what they have on that rank, if it did not fail.
inline std::string failure_in_moment(const EightRanks& eight, int failing, int64_t moment,
                                     Thrown thrown, int64_t* moments = nullptr) {
  return failure_of(eight, [&](comm::Port& port) {
    RankRun rank(port, eight.model, eight.cut);
    FailsAt fails(port.rank() == failing ? moment : -1, thrown);
    rank.session.add_observer(fails);
    static_cast<void>(rank.trainer.step());
    static_cast<void>(
        train::evaluate_loss(rank.session, rank.batches, 500, eight.model.global_batch));
    rank.session.remove_observer(fails);
    port.finish(rank.session.stream());
    if (port.rank() == failing && moments != nullptr) *moments = fails.moments();
  });
}

/// Fails in every so many moments of these ranks. What went wrong is told once, as the failing
/// rank's, and nobody hangs.
inline void expect_told_in_moments(const std::vector<int>& ranks, int64_t stride) {
  const EightRanks eight;
  for (const int rank : ranks) {
    int64_t moments = 0;
    ASSERT_EQ(failure_in_moment(eight, rank, -1, Thrown::error, &moments), "");
    ASSERT_GT(moments, 100);
    int number = 0;
    for (int64_t moment = rank % stride; moment < moments; moment += stride) {
      const auto thrown = static_cast<Thrown>(number++ % 3);
      const auto start = std::chrono::steady_clock::now();
      const std::string failure = failure_in_moment(eight, rank, moment, thrown);
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
      const std::string place = eight.place_of(rank);
      if (thrown == Thrown::bad_alloc) {
        EXPECT_EQ(failure.find(place + " out of memory: "), 0U) << moment << ": " << failure;
      } else {
        EXPECT_EQ(failure, place + " here: planted") << moment;
      }
    }
  }
}

}  // namespace trireme
