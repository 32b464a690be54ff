// Nothing allocates inside a step: memory is planned before the first one.

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "allocation_counter.h"
#include "core/format.h"
#include "test_run.h"

namespace trireme {
namespace {

using testing_memory::Allocations;

/// Counts what is allocated by any thread, readers of data included, from the begin of the first
/// action of a step to the end of its last.
class StepWatch final : public engine::Observer {
 public:
  explicit StepWatch(engine::Session& session) : session_(session) { session.add_observer(*this); }
  ~StepWatch() override { session_.remove_observer(*this); }
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;

  void begin(const schedule::Action&) override {
    if (std::exchange(inside_, true)) return;
    testing_memory::start_counting();
  }
  void end(const schedule::Action& action) override {
    ++actions_;
    if (action.kind != schedule::ActionKind::step) return;
    last_ = testing_memory::stop_counting();
    inside_ = false;
  }
  [[nodiscard]] const Allocations& last() const { return last_; }
  [[nodiscard]] int actions() const { return actions_; }

 private:
  engine::Session& session_;
  bool inside_ = false;
  int actions_ = 0;
  Allocations last_;
};

void expect_none(const Allocations& found, const std::string& where) {
  EXPECT_EQ(found.by_new, 0) << where;
  EXPECT_EQ(found.by_map, 0) << where;
  if (testing::Test::HasFailure()) testing_memory::print_first_allocation();
  std::cout << where << ": libraries allocate ";
  if (found.counts_malloc) {
    std::cout << found.by_malloc << " times\n";
  } else {
    std::cout << "unseen, under a sanitizer\n";
  }
}

TEST(Allocations, AreSeenByTheCounter) {
  testing_memory::start_counting();
  const auto one = std::make_unique<int>(1);
  const auto aligned = std::make_unique<std::array<float, 64>>();
  std::thread([] { EXPECT_NE(std::make_unique<int>(2), nullptr); }).join();
  void* raw = std::malloc(100);
  device::CpuDevice cpu(1);
  const device::Arena arena(cpu, 1 << 20);
  const Allocations found = testing_memory::stop_counting();
  EXPECT_NE(raw, nullptr);
  EXPECT_NE(arena.data(), nullptr);
  std::free(raw);
  EXPECT_GE(found.by_new, 3);
  if (!found.counts_malloc) return;
  EXPECT_GE(found.by_malloc, 1);
  EXPECT_GE(found.by_map, 1);
}

TEST(Allocations, ThereAreNoneInAStepBehindTheFirst) {
  for (const bool masked : {false, true}) {
    for (const int threads : {1, 3}) {
      for (const int readers : {0, 2}) {
        TestRun run({.threads = threads, .microbatches = 3, .readers = readers},
                    std::make_shared<RuleSamples>(),
                    {.vocab_size = kWords,
                     .eod = 5,
                     .reset_position_ids = masked,
                     .reset_attention_mask = masked,
                     .eod_mask_loss = masked});
        StepWatch watch(run.session);
        run.trainer.step();
        for (int step = 2; step <= 6; ++step) {
          run.trainer.step();
          expect_none(watch.last(),
                      format("step {}, {} threads, {} readers", step, threads, readers));
          if (HasFailure()) return;
        }
        EXPECT_EQ(watch.actions(), 6 * 7);
      }
    }
  }
}

}  // namespace
}  // namespace trireme
