#include "train/account.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace trireme::train {
namespace {

using program::Traffic;

// Two stages, of which the second one waits more.
RunAccount two_stages() {
  RunAccount account = {.ranks = {{.seconds = {6, 0, 1, 0, 2, 1}}, {.seconds = {4, 0, 1, 0, 4, 1}}},
                        .ideal_bubble = 0.25};
  account.sent(RankGroup::pipeline, Traffic::activation) = 4096;
  account.sent(RankGroup::world, Traffic::agreement) = 77;
  account.planned(RankGroup::pipeline, Traffic::activation) = 4096;
  return account;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(RunAccount, TellsSharesWithTheirExtremesAndWhose) {
  const std::string text = two_stages().text();
  EXPECT_TRUE(contains(text, "50.0%  40.0% (rank 1)  60.0% (rank 0)")) << text;
  EXPECT_TRUE(contains(text, "30.0%  20.0% (rank 0)  40.0% (rank 1)")) << text;
  EXPECT_TRUE(contains(text, "bubble of 20.0%")) << text;
  EXPECT_FALSE(contains(text, "tensor")) << text;  // nothing is exchanged there
}

TEST(RunAccount, HoldsAllBytesAgainstThePlanButWhatIsOutsideOfSteps) {
  RunAccount account = two_stages();
  EXPECT_TRUE(account.bytes_are_as_planned());
  EXPECT_TRUE(contains(account.text(), "the same")) << account.text();
  EXPECT_TRUE(contains(account.text(), "outside steps")) << account.text();
  // Sent and not planned, planned and not sent: each kind of each group counts.
  for (size_t g = 0; g < kRankGroups; ++g) {
    for (size_t k = 0; k < program::kTraffics; ++k) {
      const auto group = static_cast<RankGroup>(g);
      const auto traffic = static_cast<Traffic>(k);
      if (group == RankGroup::world && traffic == Traffic::agreement) continue;
      for (model::WireBytes RunAccount::*side : {&RunAccount::sent, &RunAccount::planned}) {
        RunAccount other = two_stages();
        (other.*side)(group, traffic) += 1;
        EXPECT_FALSE(other.bytes_are_as_planned())
            << trireme::name_of(group) << " " << program::name_of(traffic);
      }
    }
  }
}

TEST(RunAccount, IsALineForOneRank) {
  const RunAccount account = {.ranks = {{.seconds = {9, 0, 0, 0, 0, 1}}}};
  EXPECT_EQ(account.text(), "time of the steps: 90.0% compute, 10.0% between actions\n");
}

TEST(RunAccount, HasTheSameAsJson) {
  const auto json = nlohmann::json::parse(two_stages().json(12));
  EXPECT_EQ(json.at("iteration"), 12);
  EXPECT_EQ(json.at("ranks"), 2);
  EXPECT_DOUBLE_EQ(json.at("time").at("bubble").at("mean").get<double>(), 0.3);
  EXPECT_DOUBLE_EQ(json.at("time").at("compute").at("most").get<double>(), 0.6);
  EXPECT_EQ(json.at("bytes_sent").size(), 2U);
  EXPECT_EQ(
      json.at("bytes_sent")[0],
      nlohmann::json(
          {{"group", "pipeline"}, {"traffic", "activation"}, {"sent", 4096}, {"planned", 4096}}));
  EXPECT_FALSE(json.at("bytes_sent")[1].contains("planned"));
}

}  // namespace
}  // namespace trireme::train
