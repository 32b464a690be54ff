// One rank fails, in every phase of a run: all end, and what went wrong is told once, as that
// rank's.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "counting_device.h"
#include "failing_rank.h"

namespace trireme {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(FailingRank, EndsAllInAnyMomentOfAStepAndAnEvaluation) {
  expect_told_in_moments({0, 3, 6}, 17);
}

TEST(FailingRank, ThatHasTooLittleMemoryTellsItsTable) {
  const EightRanks eight;
  for (const int failing : {1, 6}) {
    const std::string failure = failure_of(eight, [&](comm::Port& port) {
      if (port.rank() == failing) {
        CountingDevice device(1 << 10);
        const engine::RankGroups groups(port,
                                        parallel::Topology(eight.cut.p, eight.cut.t, eight.cut.d));
        const engine::Session session(
            model::plan_run(request_of(eight.model, eight.cut, port.rank())),
            {.device = &device, .kernels = &ops::cpu_kernels()}, groups.all());
        ADD_FAILURE() << "a session in 1 KiB";
      }
      RankRun rank(port, eight.model, eight.cut);
      static_cast<void>(rank.trainer.step());
    });
    EXPECT_EQ(failure.find(eight.place_of(failing) + " memory: this rank needs "), 0U) << failure;
    EXPECT_TRUE(has(failure, "cpu has 1.0 KiB")) << failure;
    EXPECT_TRUE(has(failure, "memory of this rank")) << failure;
  }
}

// One sample has a word that is none.
class BadSample final : public data::SampleSource {
 public:
  explicit BadSample(int64_t bad) : bad_(bad) {}
  [[nodiscard]] int64_t samples() const override { return good_.samples(); }
  [[nodiscard]] int64_t sequence_length() const override { return good_.sequence_length(); }
  void read(int64_t k, std::span<int32_t> tokens) const override {
    good_.read(k, tokens);
    if (k == bad_) tokens[5] = kWords;
  }
  [[nodiscard]] std::string origin(int64_t k, int64_t at) const override {
    return good_.origin(k, at);
  }

 private:
  RuleSamples good_;
  int64_t bad_;
};

TEST(FailingRank, ThatFindsBadDataNamesThem) {
  const EightRanks eight;
  // Rows of the batch go to the data ranks in turn: b 1, d 2.
  for (const int64_t sample : {1, 3}) {
    const std::string failure = failure_of(eight, [&](comm::Port& port) {
      RankRun rank(port, eight.model, eight.cut, ops::cpu_kernels(),
                   std::make_shared<BadSample>(sample));
      static_cast<void>(rank.trainer.step());
    });
    EXPECT_TRUE(has(failure, " d1] sample " + std::to_string(sample) + ": token id 61")) << failure;
  }
}

TEST(FailingRank, EndsThoseThatWaitInASaveOrAtTheEnd) {
  const EightRanks eight;
  std::string pattern = testing::TempDir() + "trireme-failing-XXXXXX";
  const Path folder = ::mkdtemp(pattern.data());
  for (const bool in_save : {true, false}) {
    const std::string failure = failure_of(eight, [&](comm::Port& port) {
      RankRun rank(port, eight.model, eight.cut);
      static_cast<void>(rank.trainer.step());
      if (port.rank() == 5) throw_planted(Thrown::error);
      device::Stream& stream = rank.session.stream();
      if (in_save) {
        train::save_checkpoint({.group = port.world(), .stream = stream}, rank.session,
                               rank.trainer.position(), kSeed, "", folder);
      }
      port.finish(stream);
    });
    EXPECT_EQ(failure, eight.place_of(5) + " here: planted");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace trireme
