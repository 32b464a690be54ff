// One fault in each message of a training step; one failure in each moment of each rank.

#include <gtest/gtest.h>

#include "failing_rank.h"
#include "faults_run.h"

namespace trireme {
namespace {

void expect_for_each_cut(void (PlantedFaults::*expected)() const) {
  for (const CutRanks& ranks : {CutRanks(EightRanks()), CutRanks(RingOfTwoStages())}) {
    SCOPED_TRACE(ranks.cut.text());
    (PlantedFaults(ranks, true).*expected)();
  }
}

TEST(EveryMessage, DelayedChangesNoBit) {
  expect_for_each_cut(&PlantedFaults::expect_same_bits_when_delayed);
}

TEST(EveryMessage, DroppedIsNamedByThoseThatWait) {
  expect_for_each_cut(&PlantedFaults::expect_waits_named_when_dropped);
}

TEST(EveryMessage, ThatComesTwiceIsRefused) {
  expect_for_each_cut(&PlantedFaults::expect_refused_when_doubled);
}

TEST(EveryMessage, ThatStraysIsRefused) {
  expect_for_each_cut(&PlantedFaults::expect_refused_when_misrouted);
}

class EveryMoment : public testing::TestWithParam<int> {};

TEST_P(EveryMoment, OfARankThatFailsIsToldAsItsOwn) {
  expect_told_in_moments({GetParam()}, 1);
}

INSTANTIATE_TEST_SUITE_P(OfEveryRank, EveryMoment, testing::Range(0, EightRanks::kRanks));

}  // namespace
}  // namespace trireme
