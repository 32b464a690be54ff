// One fault in a message of each kind that a training step has.

#include <gtest/gtest.h>

#include "faults_run.h"

namespace trireme {
namespace {

const PlantedFaults& faults() {
  static const PlantedFaults faults(false);
  return faults;
}

TEST(FaultyStep, HasEveryKindOfMessage) {
  // Activations, their gradients, scatter/gather of both, the cross entropy, buckets, the tied
  // embedding, the norm, the loss; most of them in two parts.
  EXPECT_GE(faults().size(), 14U);
}

TEST(FaultyStep, HasTheSameBitsWhenAMessageIsDelayed) {
  faults().expect_same_bits_when_delayed();
}

TEST(FaultyStep, NamesPeersAndActionsWhenAMessageIsDropped) {
  faults().expect_waits_named_when_dropped();
}

TEST(FaultyStep, RefusesAMessageThatComesTwice) {
  faults().expect_refused_when_doubled();
}

TEST(FaultyStep, RefusesAMessageThatStrays) {
  faults().expect_refused_when_misrouted();
}

}  // namespace
}  // namespace trireme
