// One run, cut in every way: the arithmetic contract says which cuts have the same bits, and how
// near the others are.

#include <gtest/gtest.h>

#include <set>

#include "parallel_check.h"

namespace trireme {
namespace {

using grid::Factor;

// Every p, t and d that fit, each with one v, one order and one level of everything else.
TEST(Parity, OfEverySizeUpToEightRanks) {
  grid::Checker checker;
  const std::vector<grid::Size> sizes = grid::sizes(8);
  std::set<std::tuple<int, int, int>> seen;
  uint32_t number = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const grid::Size& one = sizes[i];
    if (!seen.emplace(one.p, one.t, one.d).second) continue;
    // The sizes of one (p, t, d) differ in v alone, and stand side by side.
    size_t end = i;
    while (end < sizes.size() &&
           std::tie(sizes[end].p, sizes[end].t, sizes[end].d) == std::tie(one.p, one.t, one.d))
      ++end;
    grid::Levels levels = grid::spread(number);
    levels[static_cast<size_t>(Factor::order)] = static_cast<int>(number % 6);
    checker.check(grid::make_case(sizes[i + number % (end - i)], levels));
    if (HasFatalFailure()) return;
    ++number;
  }
  // A tolerance that nothing comes near would show nothing.
  EXPECT_GT(checker.worst(), 0.02);
}

// As in Megatron-LM's texts: stages with the embedding alone, the head alone, or nothing.
TEST(Parity, OfLayoutsWithStagesThatHoldLittle) {
  const Model model;
  const Result reference = run(model, {});
  for (const auto& [text, p] : {std::pair{"Ett||ttL", 3},
                                {"E|tt||ttL", 4},
                                {"E|tttt|L", 3},
                                {"E||||tttt|L", 6},
                                {"Ett|||ttL", 2},
                                {"Etttt||L", 3},
                                {"E||tttt|L", 2},
                                {"E|||ttttL", 4}}) {
    const parallel::Layout layout = parallel::parse_layout(text, model.shape.layers, p);
    Cut cut = {.p = p, .v = layout.chunks_per_rank(), .layout = layout};
    // Some are interleaved with m that p does not divide.
    if (cut.v == 1 || model.global_batch % p == 0) {
      expect_bits(run(model, cut), reference, text);
      if (HasFatalFailure()) return;
    }
    cut.kind = schedule::ScheduleKind::gpipe;
    expect_bits(run(model, cut), reference, std::string(text) + " gpipe");
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace trireme
