#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "parallel/tensor_table.h"
#include "parallel/topology.h"

namespace trireme::parallel {
namespace {

std::vector<int> values(const std::vector<Rank>& ranks) {
  std::vector<int> out;
  for (const Rank rank : ranks) out.push_back(rank.value);
  return out;
}

TEST(Topology, OrdersTensorFastestThenDataThenPipeline) {
  // Megatron-LM's example: 16 ranks, TP 2, PP 4, DP 2
  const Topology topology(4, 2, 2);
  EXPECT_EQ(values(topology.group(Axis::tensor, Rank{0})), (std::vector<int>{0, 1}));
  EXPECT_EQ(values(topology.group(Axis::data, Rank{1})), (std::vector<int>{1, 3}));
  EXPECT_EQ(values(topology.group(Axis::data, Rank{4})), (std::vector<int>{4, 6}));
  EXPECT_EQ(values(topology.group(Axis::pipeline, Rank{4})), (std::vector<int>{0, 4, 8, 12}));
  EXPECT_EQ(values(topology.group(Axis::context, Rank{4})), (std::vector<int>{4}));
}

TEST(Topology, CanOrderPipelineBeforeData) {
  // The same ranks under --use-tp-pp-dp-mapping.
  const Topology topology(4, 2, 2, RankOrder::tensor_pipeline_data);
  EXPECT_EQ(values(topology.group(Axis::tensor, Rank{0})), (std::vector<int>{0, 1}));
  EXPECT_EQ(values(topology.group(Axis::pipeline, Rank{1})), (std::vector<int>{1, 3, 5, 7}));
  EXPECT_EQ(values(topology.group(Axis::data, Rank{4})), (std::vector<int>{4, 12}));
}

class TopologyOfEachOrder : public ::testing::TestWithParam<RankOrder> {};
INSTANTIATE_TEST_SUITE_P(Orders, TopologyOfEachOrder,
                         ::testing::Values(RankOrder::tensor_data_pipeline,
                                           RankOrder::tensor_pipeline_data));

TEST_P(TopologyOfEachOrder, CoordinatesAndRanksAreInverse) {
  const Topology topology(3, 4, 5, GetParam());
  for (int rank = 0; rank < topology.world_size(); ++rank) {
    EXPECT_EQ(topology.rank(topology.coordinates(Rank{rank})).value, rank);
  }
}

TEST_P(TopologyOfEachOrder, GroupsOfAnAxisPartitionTheWorld) {
  const Topology topology(3, 2, 5, GetParam());
  for (const Axis axis : {Axis::tensor, Axis::data, Axis::pipeline}) {
    std::multiset<int> seen;
    for (int rank = 0; rank < topology.world_size(); ++rank) {
      const auto group = values(topology.group(axis, Rank{rank}));
      EXPECT_EQ(static_cast<int>(group.size()), topology.size(axis));
      if (group.front() == rank) seen.insert(group.begin(), group.end());
    }
    EXPECT_EQ(seen.size(), 30U);
    EXPECT_EQ(std::set<int>(seen.begin(), seen.end()).size(), 30U);
  }
}

TEST(Topology, NamesAllFactorsWhenTheWorldDoesNotFit) {
  try {
    Topology(2, 2, 3).require_world_size(8);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("8 ranks run, but pipeline 2 x tensor 2 x data 3 = 12"),
        std::string::npos);
    EXPECT_EQ(error.exit_status(), 2);
  }
  EXPECT_THROW(Topology(0, 1, 1), Error);
}

TensorTable vocabulary_table(int64_t rows, int64_t padded) {
  TensorTable table;
  Tensor tensor = {.name = "w", .shape = {rows, 4}};
  tensor.splits[0] = Split{.axis = Axis::tensor, .granule = 1, .padded = padded};
  table.add(tensor);
  return table;
}

TEST(TensorTable, SlicesTileTheTensorAndPaddingIsLocal) {
  const TensorTable table = vocabulary_table(61, 128);
  for (const int t : {1, 2, 4}) {
    const Topology topology(1, t, 1);
    int64_t next = 0;
    for (int rank = 0; rank < t; ++rank) {
      const Slice slice = table.slice(TensorId{0}, topology, topology.coordinates(Rank{rank}));
      EXPECT_EQ(slice.storage[0], 128 / t);
      EXPECT_EQ(slice.offset[0], next);
      next += slice.extent[0];
      EXPECT_EQ(slice.extent[1], 4);
    }
    EXPECT_EQ(next, 61);
  }
  EXPECT_EQ(table.parameters(), 61 * 4);
}

TEST(TensorTable, RefusesACutThroughAGranule) {
  TensorTable table;
  Tensor tensor = {.name = "qkv", .shape = {48, 4}};
  tensor.splits[0] = Split{.axis = Axis::tensor, .granule = 16};
  table.add(tensor);
  EXPECT_NO_THROW(static_cast<void>(table.slice(TensorId{0}, Topology(1, 3, 1), {})));
  EXPECT_THROW(static_cast<void>(table.slice(TensorId{0}, Topology(1, 2, 1), {})), Error);
}

}  // namespace
}  // namespace trireme::parallel
