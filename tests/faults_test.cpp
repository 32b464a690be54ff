// One fault in a message of each kind that a training step has.

#include <gtest/gtest.h>

#include "faults_run.h"

namespace trireme {
namespace {

struct Case {
  std::string name;
  CutRanks ranks;
  size_t kinds;  ///< of messages, at least
};

// Of eight ranks: activations, their gradients, scatter/gather of both, the cross entropy, buckets,
// the tied embedding, the norm, the loss; most of them in two parts. Of the ring: activations and
// gradients in both directions, each in its own queue.
const std::vector<Case>& cases() {
  static const std::vector<Case> cases = {{"EightRanks", EightRanks(), 18},
                                          {"RingOfTwoStages", RingOfTwoStages(), 14}};
  return cases;
}

class FaultyStepOf : public testing::TestWithParam<size_t> {
 protected:
  [[nodiscard]] static const PlantedFaults& faults() {
    static std::map<size_t, PlantedFaults> made;
    return made.try_emplace(GetParam(), cases()[GetParam()].ranks, false).first->second;
  }
};

TEST_P(FaultyStepOf, HasEveryKindOfMessage) {
  EXPECT_GE(faults().size(), cases()[GetParam()].kinds);
}

TEST_P(FaultyStepOf, HasTheSameBitsWhenAMessageIsDelayed) {
  faults().expect_same_bits_when_delayed();
}

TEST_P(FaultyStepOf, NamesPeersAndActionsWhenAMessageIsDropped) {
  faults().expect_waits_named_when_dropped();
}

TEST_P(FaultyStepOf, RefusesAMessageThatComesTwice) {
  faults().expect_refused_when_doubled();
}

TEST_P(FaultyStepOf, RefusesAMessageThatStrays) {
  faults().expect_refused_when_misrouted();
}

INSTANTIATE_TEST_SUITE_P(Cuts, FaultyStepOf, testing::Range(size_t{0}, cases().size()),
                         [](const auto& of) { return cases()[of.param].name; });

}  // namespace
}  // namespace trireme
