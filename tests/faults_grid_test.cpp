// One fault in each message of a training step.

#include <gtest/gtest.h>

#include "faults_run.h"

namespace trireme {
namespace {

TEST(EveryMessage, DelayedChangesNoBit) {
  PlantedFaults(true).expect_same_bits_when_delayed();
}

TEST(EveryMessage, DroppedIsNamedByThoseThatWait) {
  PlantedFaults(true).expect_waits_named_when_dropped();
}

TEST(EveryMessage, ThatComesTwiceIsRefused) {
  PlantedFaults(true).expect_refused_when_doubled();
}

TEST(EveryMessage, ThatStraysIsRefused) {
  PlantedFaults(true).expect_refused_when_misrouted();
}

}  // namespace
}  // namespace trireme
