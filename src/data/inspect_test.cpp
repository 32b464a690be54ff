#include "data/inspect.h"

#include "data/test_dataset.h"

namespace trireme::data {
namespace {

class InspectTest : public FolderTest {
 protected:
  LengthStatistics of(const Documents& documents) {
    write_files(folder_ / "d", plain_files(documents, 8, 2));
    return length_statistics(IndexedDataset(folder_ / "d"));
  }
};

TEST_F(InspectTest, CountsLengthsInPowersOfTwo) {
  const LengthStatistics statistics = of(counting_documents({7, 0, 1, 3, 2, 4, 8}));
  using Bucket = LengthStatistics::Bucket;
  EXPECT_EQ(statistics.buckets,
            (std::vector<Bucket>{
                {0, 0, 1, 0}, {1, 1, 1, 1}, {2, 3, 2, 5}, {4, 7, 2, 11}, {8, 15, 1, 8}}));
  EXPECT_EQ(statistics.shortest, 0);
  EXPECT_EQ(statistics.longest, 8);
  EXPECT_EQ(statistics.median, 3);
  EXPECT_DOUBLE_EQ(statistics.mean, 25.0 / 7);
  EXPECT_EQ(statistics.empty_documents, 1);
}

TEST_F(InspectTest, CountsDocumentsWithoutASequenceAsEmpty) {
  const LengthStatistics statistics = of({{}, {{1, 2}, {3}}, {{}, {}}});
  EXPECT_EQ(statistics.empty_documents, 2);
  EXPECT_EQ(statistics.median, 0);
  EXPECT_EQ(of({{}}).buckets.size(), 0U);
}

}  // namespace
}  // namespace trireme::data
