#include "train/verify/report.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "comm/local/solo.h"
#include "device/cpu/cpu_device.h"

namespace trireme::train {
namespace {

Comparison comparison(Quantity quantity, int step, const std::string& name, double error,
                      double tolerance) {
  return {.quantity = quantity,
          .step = step,
          .name = name,
          .error = error,
          .scale = 1,
          .tolerance = tolerance,
          .elements = 1,
          .different = error == 0 ? 0 : 1,
          .where = "rank 0"};
}

VerifyReport joined(const std::vector<Comparison>& own) {
  device::CpuDevice device(1);
  comm::SoloCommunicator solo;
  return join_reports(solo, *device.make_stream(), own);
}

TEST(Comparison, CountsElementsThatDifferAndKeepsTheLargestError) {
  Comparison one;
  add_difference(one, std::array<float, 4>{1, -2, 0.0F, 3},
                 std::array<float, 4>{1, -2.5, -0.0F, 3.25});
  EXPECT_EQ(one.elements, 4);
  EXPECT_EQ(one.different, 2);
  EXPECT_EQ(one.error, 0.5);
  EXPECT_EQ(one.scale, 3);
  EXPECT_TRUE(one.is_out()) << "the same bits are promised unless there is a tolerance";
  one.tolerance = 1;
  EXPECT_FALSE(one.is_out());
  EXPECT_EQ(one.ratio(), 0.5);
}

TEST(Comparison, IsOutWhereANumberIsNotFiniteEvenWhereBothAreSo) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Comparison one = {.tolerance = 1e30};
    add_difference(one, std::array<float, 1>{1}, std::array<float, 1>{bad});
    EXPECT_TRUE(one.is_out());
  }
  Comparison both = {.tolerance = 1e30};
  const std::array<float, 1> nan = {std::numeric_limits<float>::quiet_NaN()};
  add_difference(both, nan, nan);
  EXPECT_TRUE(both.is_out());
}

TEST(VerifyReport, JoinsThePartsOfATensorAndKeepsTheWorst) {
  Comparison other = comparison(Quantity::gradient, 1, "w", 3, 4);
  other.where = "rank 1";
  const VerifyReport report = joined({comparison(Quantity::gradient, 1, "w", 2, 4), other});
  ASSERT_EQ(report.comparisons.size(), 1U);
  EXPECT_EQ(report.comparisons[0].error, 3);
  EXPECT_EQ(report.comparisons[0].where, "rank 1");
  EXPECT_EQ(report.comparisons[0].elements, 2);
}

TEST(VerifyReport, NamesTheFirstInTheOrderOfTheDataFlow) {
  Comparison late = comparison(Quantity::gradient, 1, "embedding", 9, 1);
  late.order = 7;
  const VerifyReport report = joined({comparison(Quantity::forward, 2, "y", 99, 1), late,
                                      comparison(Quantity::gradient, 1, "head", 5, 1),
                                      comparison(Quantity::forward, 1, "y", 0.5, 1)});
  ASSERT_NE(report.first_out(), nullptr);
  EXPECT_EQ(report.first_out()->name, "head");
  const std::string text = report.text(1);
  EXPECT_NE(text.find("3 of 4 comparisons are out"), std::string::npos) << text;
  EXPECT_NE(text.find("step 1: gradient of head"), std::string::npos) << text;
  EXPECT_NE(text.find("... and 1 more"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(report.json());
  EXPECT_EQ(json["sound"], false);
  EXPECT_EQ(json["first_out"]["name"], "head");
  EXPECT_EQ(json["comparisons"].size(), 4U);
}

TEST(VerifyReport, IsSoundWhereNothingIsOut) {
  const VerifyReport report = joined({comparison(Quantity::loss, 1, "loss", 0.5, 1),
                                      comparison(Quantity::gradient, 1, "w", 0, 0)});
  EXPECT_TRUE(report.is_sound());
  EXPECT_NE(report.text(0).find("all 2 tensors and values are within tolerance, 1 of them equal"),
            std::string::npos)
      << report.text(0);
}

}  // namespace
}  // namespace trireme::train
