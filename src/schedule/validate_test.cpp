// What a user may write down, and what is said where it cannot be.

#include "schedule/validate.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/format.h"
#include "schedule/communication.h"
#include "schedule/testing.h"
#include "schedule/text.h"

namespace trireme::schedule {
namespace {

using testing::computing_of;

std::string refusal(std::string_view text) {
  try {
    validate(insert_communication(parse_pipeline(text, "file")));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PipelineText, RefusesWithLineAndWord) {
  const std::string header = "trireme-pipeline 1 stages 2 microbatches 1 chunks 1\n";
  EXPECT_NE(refusal(header + "rank 0\n0F0 0Q0\nrank 1").find("file, line 3: '0Q0'"),
            std::string::npos);
  EXPECT_NE(refusal(header + "0F0").find("line 2: '0F0'"), std::string::npos);
  EXPECT_NE(refusal(header + "rank 1\n").find("line 2: rank 1 stands"), std::string::npos);
  EXPECT_NE(refusal(header + "rank 0\n").find("1 of 2 ranks"), std::string::npos);
  EXPECT_NE(refusal(header + "rank 0\nrank 1\nrank 2\n").find("rank 2 of 2 stages"),
            std::string::npos);
  EXPECT_NE(refusal("trireme-pipeline 1 stages 0 microbatches 1 chunks 1").find("at least one"),
            std::string::npos);
  EXPECT_NE(refusal("trireme-pipeline 1 stages 1 microbatches 99999999999 chunks 1")
                .find("line 1: '99999999999'"),
            std::string::npos);
}

// Two ranks of one chunk and one or two microbatches.
std::string two_ranks(int microbatches, const std::string& first, const std::string& second) {
  return format("trireme-pipeline 1 stages 2 microbatches {} chunks 1\nrank 0\n{}\nrank 1\n{}\n",
                microbatches, first, second);
}

TEST(ValidatePipeline, RefusesMessagesThatDoNotMatch) {
  EXPECT_EQ(refusal(two_ranks(1, "0F0 >0F0 <0B0 0B0 reduce_wait step",
                              "<0F0 0F0 0B0 >0B0 reduce_wait step")),
            "accepted");
  const std::string missing = refusal(two_ranks(1, "0F0 >0F0 0B0 step", "<0F0 0F0 0B0 >0B0 step"));
  EXPECT_NE(missing.find("rank 0: <0B0 is missing"), std::string::npos) << missing;
  const std::string beyond =
      refusal(two_ranks(1, "<0F0 0F0 >0F0 <0B0 0B0 step", "<0F0 0F0 0B0 >0B0 step"));
  EXPECT_NE(beyond.find("rank 0: <0F0 is too much"), std::string::npos) << beyond;
  const std::string order = refusal(two_ranks(2, "0F0 >0F0 0F1 >0F1 <0B0 0B0 <0B1 0B1 step",
                                              "<0F1 <0F0 0F0 0F1 0B0 >0B0 0B1 >0B1 step"));
  EXPECT_NE(order.find("activations from rank 0 to rank 1: message 0 is sent by >0F0"),
            std::string::npos)
      << order;
  EXPECT_NE(order.find("<0F1 stands there"), std::string::npos) << order;
  EXPECT_NE(refusal(two_ranks(1, "0F0", "0F0 0B0 step")).find("rank 0"), std::string::npos);
}

TEST(ValidatePipeline, ShowsADeadlockAsItsCycle) {
  // Rank 0 wants the gradient of 0 before it sends 1; rank 1 wants both before it goes back.
  const std::string cycle = refusal(two_ranks(2, "0F0 0B0 0F1 0B1", "0F0 0F1 0B0 0B1"));
  EXPECT_EQ(cycle,
            "schedule: deadlock, each line waits for the next and the last for the first:\n"
            "  rank 0 0F1 comes behind rank 0 0B0\n"
            "  rank 0 0B0 needs rank 1 0B0\n"
            "  rank 1 0B0 comes behind rank 1 0F1\n"
            "  rank 1 0F1 needs rank 0 0F1");
}

TEST(ValidatePipeline, KnowsThatASendIsCompleteWhenReceived) {
  // Rank 0 receives for its second chunk behind all of its first. So rank 1 runs out of buffers,
  // and receives no more, and rank 0 runs out of them too: from so many microbatches on.
  const auto chunk_by_chunk = [](int microbatches) {
    Pipeline pipeline = {.microbatches = microbatches, .chunks = 2, .ranks = {{}, {}}};
    for (int rank = 0; rank < 2; ++rank) {
      for (int chunk = 0; chunk < 2; ++chunk) {
        for (int k = 0; k < microbatches; ++k) {
          const auto add = [&](ActionKind kind) {
            pipeline.ranks[static_cast<size_t>(rank)].push_back(
                {.kind = kind, .chunk = ChunkId{chunk}, .microbatch = MicrobatchId{k}});
          };
          if (rank + chunk > 0) add(ActionKind::receive_activation);
          add(ActionKind::forward);
          if (rank + chunk < 2) add(ActionKind::send_activation);
        }
      }
    }
    return print(pipeline);
  };
  EXPECT_EQ(refusal(chunk_by_chunk(5)), "accepted");
  const std::string cycle = refusal(chunk_by_chunk(6));
  EXPECT_NE(cycle.find("rank 1 0F2 needs a send buffer, free after the message >0F0 from rank 1 to "
                       "rank 0"),
            std::string::npos)
      << cycle;
  // Without messages written out, the receives are posted early enough.
  EXPECT_EQ(refusal(print(computing_of(parse_pipeline(chunk_by_chunk(6))))), "accepted");
}

TEST(ValidatePipeline, LeavesTheOrderOfSumsToTheUserAndNamesIt) {
  const Pipeline pipeline =
      insert_communication(parse_pipeline(two_ranks(2, "0F0 0F1 0B1 0B0", "0F0 0F1 0B1 0B0")));
  EXPECT_NO_THROW(validate(pipeline));
  ASSERT_TRUE(sum_out_of_order(pipeline.of(1)));
  EXPECT_EQ(sum_out_of_order(pipeline.of(1))->text(), "0B0");
  EXPECT_THROW(validate(pipeline.of(1)), Error);
}

}  // namespace
}  // namespace trireme::schedule
