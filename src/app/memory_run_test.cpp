// The memory of a run is the memory of its plan.

#include <cmath>
#include <cstdlib>

#include "app/run_fixture.h"

namespace trireme::app {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

// Behind a part of the text: a number.
double number_behind(const std::string& text, const std::string& part) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part << "\n" << text;
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + part.size(), nullptr);
}

class MemoryRun : public RunTest {};

TEST_F(MemoryRun, TakesTheMemoryThatItPlanned) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps books in memory of its own";
  // All that takes memory: threads, readers, microbatches, validation, saves, a resume.
  const std::string train =
      "train --num-layers 2 --hidden-size 512 --num-attention-heads 8 --seq-length 32 "
      "--micro-batch-size 2 --global-batch-size 4 --vocab-size 16384 --lr 1e-3 --eval-interval 1 "
      "--eval-iters 1 --threads-per-rank 2 --num-workers 2 --data-path corpus_text_document "
      "--split 90,10 --save memory --load memory --keep-last 1 ";
  for (const char* steps : {"--train-iters 1", "--train-iters 2"}) {
    const Outcome outcome = run(train + steps);
    ASSERT_EQ(outcome.status, 0) << outcome.text;
    const double planned = number_behind(outcome.text, "\nmemory: ");
    const double taken = number_behind(outcome.text, "MiB planned, ");
    EXPECT_GT(planned, 250);
    EXPECT_NEAR(planned, number_behind(outcome.text, "\n  total "), 0.5);
    EXPECT_LE(std::abs(taken - planned), 0.03 * planned + 16) << outcome.text;
  }
}

}  // namespace
}  // namespace trireme::app
