#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "parallel/stages.h"
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

TEST(Topology, CoordinatesAndRanksAreInverse) {
  const Topology topology(3, 4, 5);
  for (int rank = 0; rank < topology.world_size(); ++rank) {
    EXPECT_EQ(topology.rank(topology.coordinates(Rank{rank})).value, rank);
  }
}

TEST(Topology, GroupsOfAnAxisPartitionTheWorld) {
  const Topology topology(3, 2, 5);
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

TEST(EqualChunks, PlaceEveryLayerOnceInStageOrder) {
  for (const auto& [layers, p, v] : {std::tuple{16, 4, 2}, {12, 1, 1}, {12, 3, 4}, {8, 8, 1}}) {
    std::vector<int> holder(static_cast<size_t>(layers), -1);
    int embeddings = 0;
    int heads = 0;
    for (int r = 0; r < p; ++r) {
      for (const Chunk& chunk : equal_chunks(layers, p, v, r)) {
        for (int l = chunk.first_layer; l < chunk.first_layer + chunk.layers; ++l) {
          EXPECT_EQ(holder[static_cast<size_t>(l)], -1);
          holder[static_cast<size_t>(l)] = chunk.stage.value;
        }
        embeddings += chunk.embedding ? 1 : 0;
        heads += chunk.head ? 1 : 0;
      }
    }
    EXPECT_TRUE(std::is_sorted(holder.begin(), holder.end()));
    EXPECT_EQ(holder.front(), 0);
    EXPECT_EQ(embeddings, 1);
    EXPECT_EQ(heads, 1);
  }
}

TEST(EqualChunks, FollowThePapersExampleOfInterleaving) {
  // 4 layers a device, v = 2, p = 4: device 0 has layers 1, 2, 9, 10 counted from one
  const auto chunks = equal_chunks(16, 4, 2, 0);
  EXPECT_EQ(chunks[0].first_layer, 0);
  EXPECT_EQ(chunks[1].first_layer, 8);
  EXPECT_EQ(chunks[1].layers, 2);
}

TEST(EqualChunks, RefuseAnUnevenSplitWithTheNearestCounts) {
  try {
    static_cast<void>(equal_chunks(30, 8, 1, 0));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("use 24 or 32 layers"), std::string::npos)
        << error.what();
  }
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
