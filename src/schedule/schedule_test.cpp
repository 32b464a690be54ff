#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "schedule/schedules.h"
#include "schedule/slots.h"
#include "schedule/text.h"
#include "schedule/validate.h"

namespace trireme::schedule {
namespace {

std::string actions_text(const Schedule& schedule) {
  const std::string text = print(schedule);
  return text.substr(text.find('\n') + 1);
}

TEST(OneForwardOneBackward, AlternatesOnOneRank) {
  EXPECT_EQ(actions_text(one_forward_one_backward({.stages = 1, .microbatches = 3}, 0)),
            "0F0 0B0 0F1 0B1 0F2 0B2 step\n");
}

TEST(OneForwardOneBackward, WarmsUpByTheStagesBehindIt) {
  EXPECT_EQ(actions_text(one_forward_one_backward({.stages = 4, .microbatches = 5}, 1)),
            "0F0 0F1 0F2 0B0 0F3 0B1 0F4 0B2 0B3 0B4 step\n");
}

TEST(OneForwardOneBackward, IsValidAndKeepsAtMostPMinusRankInFlight) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 12; ++m) {
      for (int r = 0; r < p; ++r) {
        const Schedule schedule = one_forward_one_backward({.stages = p, .microbatches = m}, r);
        EXPECT_NO_THROW(validate(schedule)) << print(schedule);
        EXPECT_EQ(assign_slots(schedule).in_flight[0], std::min(m, p - r)) << print(schedule);
      }
    }
  }
}

TEST(ForwardOnly, IsValidAndKeepsOne) {
  const Schedule schedule = forward_only({.microbatches = 4});
  EXPECT_NO_THROW(validate(schedule));
  EXPECT_EQ(assign_slots(schedule).in_flight, (std::vector<int>{1}));
  EXPECT_EQ(assign_slots(schedule).batch_slots, 1);
}

TEST(AssignSlots, NeverGivesASlotToTwoMicrobatchesInFlight) {
  for (int p = 1; p <= 6; ++p) {
    for (int r = 0; r < p; ++r) {
      const Schedule schedule = one_forward_one_backward({.stages = p, .microbatches = 9}, r);
      const SlotAssignment assignment = assign_slots(schedule);
      std::vector<int> owner(static_cast<size_t>(assignment.in_flight[0]), -1);
      for (const Action& action : schedule.actions) {
        if (action.kind == ActionKind::step) continue;
        const int slot = assignment.slot[0][static_cast<size_t>(action.microbatch.value)];
        ASSERT_LT(slot, assignment.in_flight[0]);
        int& holder = owner[static_cast<size_t>(slot)];
        if (action.kind == ActionKind::forward) {
          EXPECT_EQ(holder, -1);
          holder = action.microbatch.value;
        } else {
          EXPECT_EQ(holder, action.microbatch.value);
          holder = -1;
        }
      }
    }
  }
}

Schedule chunks_of(int chunks, int microbatches, const char* actions) {
  return parse(
      format("trireme-schedule 1 microbatches {} chunks {}\n{}", microbatches, chunks, actions));
}

TEST(AssignSlots, KeepsTheFieldsOfAMicrobatchWhileAnyChunkUsesThem) {
  // Microbatch 0 is done with chunk 0 and 2 takes its activations; the fields of 0 are still read.
  const Schedule schedule = chunks_of(2, 3, "0F0 1F0 0F1 0B0 0F2 1F1 1F2 1B0 0B1 1B1 0B2 1B2 step");
  validate(schedule);
  const SlotAssignment assignment = assign_slots(schedule);
  EXPECT_EQ(assignment.slot[0], (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(assignment.slot[1], (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(assignment.in_flight, (std::vector<int>{2, 3}));
  EXPECT_EQ(assignment.batch_slot, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(assignment.batch_slots, 3);
}

TEST(AssignSlots, GivesFieldsInFlightToOneMicrobatchEachWhateverTheChunks) {
  const Schedule schedules[] = {
      one_forward_one_backward({.stages = 4, .microbatches = 9}, 1),
      forward_only({.microbatches = 5}),
      chunks_of(2, 4, "0F0 0F1 1F0 1F1 0F2 0F3 1F2 1F3"),
      chunks_of(2, 4, "0F0 0F1 1F0 1F1 1B0 0F2 1B1 0F3 0B0 1F2 0B1 1F3 1B2 1B3 0B2 0B3 step"),
      chunks_of(2, 2, "0F0 1F0 1I0 0I0 0F1 1W0 1F1 0W0 1I1 0I1 1W1 0W1 step"),
  };
  for (const Schedule& schedule : schedules) {
    validate(schedule);
    const SlotAssignment assignment = assign_slots(schedule);
    std::vector<int> left(static_cast<size_t>(schedule.microbatches), 0);
    for (const Action& action : schedule.actions) {
      if (action.kind != ActionKind::step) ++left[static_cast<size_t>(action.microbatch.value)];
    }
    std::vector<int> owner(static_cast<size_t>(assignment.batch_slots), -1);
    for (const Action& action : schedule.actions) {
      if (action.kind == ActionKind::step) continue;
      const auto microbatch = static_cast<size_t>(action.microbatch.value);
      int& holder = owner.at(static_cast<size_t>(assignment.batch_slot[microbatch]));
      if (holder == -1) holder = action.microbatch.value;
      EXPECT_EQ(holder, action.microbatch.value) << print(schedule);
      if (--left[microbatch] == 0) holder = -1;
    }
  }
}

TEST(Text, PrintsAndParsesBack) {
  const Schedule schedule = one_forward_one_backward({.stages = 3, .microbatches = 11}, 0);
  EXPECT_EQ(parse(print(schedule)), schedule);
  const Schedule split = parse("trireme-schedule 1 microbatches 1 chunks 1\n0F0 0I0\n0W0 step\n");
  EXPECT_NO_THROW(validate(split));
  EXPECT_EQ(split.actions[2].kind, ActionKind::weight_gradient);
}

TEST(Text, RefusesWhatItDoesNotKnowWithLineAndWord) {
  for (const char* bad : {"", "hello", "trireme-schedule 2 microbatches 1 chunks 1\n",
                          "trireme-schedule 1 microbatches 1 chunks 1\n0X0",
                          "trireme-schedule 1 microbatches 1 chunks 1\nF0",
                          "trireme-schedule 1 microbatches 1 chunks 1\n0F99999999999"}) {
    EXPECT_THROW(static_cast<void>(parse(bad)), Error) << bad;
  }
  try {
    static_cast<void>(parse("trireme-schedule 1 microbatches 1 chunks 1\n0F0 0Q0"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 2: '0Q0'"), std::string::npos) << error.what();
  }
}

TEST(Validate, RefusesEveryKindOfBrokenOrder) {
  const auto with = [](const char* actions) {
    return parse(format("trireme-schedule 1 microbatches 2 chunks 1\n{}", actions));
  };
  EXPECT_NO_THROW(validate(with("0F0 0F1 0B0 0B1 step")));
  for (const char* bad :
       {"0F0 0B0 0F1 step", "0F0 0B0 step", "0B0 0F0 0F1 0B1 step", "0F0 0F0 0B0 0B0 step",
        "0F1 0F0 0B0 0B1 step", "0F0 0F1 0B0 0B1", "0F0 0F1 step", "0F0 0F1 0B0 0B1 step 0F0",
        "0F0 0F1 0F2 0B0 0B1 0B2 step", "0F0 0F1 0W0 0I0 0B1 step", "0F0 0F1 0I0 0B1 step",
        "0F0 0F1 0I0 0B0 0W0 0B1 step"}) {
    EXPECT_THROW(validate(with(bad)), Error) << bad;
  }
}

}  // namespace
}  // namespace trireme::schedule
