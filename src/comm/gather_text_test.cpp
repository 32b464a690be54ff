#include "comm/gather_text.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>

#include "comm/exchange.h"
#include "comm/testing/ranks.h"

namespace trireme::comm {
namespace {

using testing::Member;
using testing::run_members;

// Of rank r in round k: empty, short, with zeros in it, longer than a piece.
std::string text_of(int rank, int round) {
  static constexpr std::array<size_t, 5> kLengths = {0, 1, 3, 1000, 300'001};
  std::string text(kLengths[static_cast<size_t>(rank + round) % kLengths.size()], '\0');
  for (size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>((i * 7 + static_cast<size_t>(rank)) % 251);
  return text;
}

class GatherTexts : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(OneToEight, GatherTexts, ::testing::Range(1, 9));

TEST_P(GatherTexts, GivesEveryRankWhatEachOneSaid) {
  const int ranks = GetParam();
  std::atomic<int64_t> sent = 0;
  run_members(ranks, [&](Member& member) {
    Communicator& world = member.port.world();
    for (int round = 0; round < 5; ++round) {
      const auto texts = gather_texts(world, *member.stream, text_of(world.rank(), round));
      ASSERT_EQ(texts.size(), static_cast<size_t>(ranks));
      for (int r = 0; r < ranks; ++r)
        EXPECT_TRUE(texts[static_cast<size_t>(r)] == text_of(r, round)) << r << " in " << round;
    }
    sent += world.bytes_sent()[Traffic::agreement];
    EXPECT_EQ(world.bytes_sent()[Traffic::agreement], world.bytes_sent().total());
  });
  int64_t expected = 0;
  for (int round = 0; round < 5; ++round) {
    for (int r = 0; r < ranks; ++r)
      expected += (8 + static_cast<int64_t>(text_of(r, round).size())) * (ranks - 1);
  }
  EXPECT_EQ(sent, expected);
}

TEST(GatherTexts, WorksInAGroupThatIsNotTheWorld) {
  run_members(4, [&](Member& member) {
    const int me = member.port.rank();
    const auto group = member.port.make_group("odd or even", {2 + me % 2, me % 2});
    const auto texts = gather_texts(*group, *member.stream, std::to_string(me));
    EXPECT_EQ(texts,
              (std::vector<std::string>{std::to_string(2 + me % 2), std::to_string(me % 2)}));
  });
}

}  // namespace
}  // namespace trireme::comm
