#include "data/merge.h"

#include "data/indexed_dataset.h"
#include "data/test_dataset.h"

namespace trireme::data {
namespace {

class MergeTest : public FolderTest {
 protected:
  void write(const std::string& name, const Documents& documents, int code = 8, int bytes = 2) {
    write_files(folder_ / name, plain_files(documents, code, bytes));
  }
};

TEST_F(MergeTest, GivesTheFilesOfOneCorpusBehindTheOther) {
  const Documents a = {{{1, 2, 3}, {4}}, {}, {{5, 6}}};
  const Documents b = {{{}}, {{7}}};
  const Documents c = {{{8, 9, 10, 65535}}};
  write("a", a);
  write("b", b);
  write("c", c);
  const MergedDataset merged =
      merge_datasets({folder_ / "b", folder_ / "a", folder_ / "c", folder_ / "a"}, folder_ / "out");
  Documents all = b;
  all.insert(all.end(), a.begin(), a.end());
  all.insert(all.end(), c.begin(), c.end());
  all.insert(all.end(), a.begin(), a.end());
  const PlainFiles expected = plain_files(all, 8, 2);
  EXPECT_EQ(read_file(folder_ / "out.idx"), expected.idx);
  EXPECT_EQ(read_file(folder_ / "out.bin"), expected.bin);
  EXPECT_EQ(merged.documents, 9);
  EXPECT_EQ(merged.sequences, 9);
  EXPECT_EQ(merged.tokens, 17);
}

TEST_F(MergeTest, CopiesSequencesLongerThanItsBuffer) {
  Documents long_one = {{std::vector<int64_t>(700000)}};
  for (size_t i = 0; i < long_one[0][0].size(); ++i)
    long_one[0][0][i] = static_cast<int64_t>(i * 1000);
  write("a", long_one, 4, 4);
  static_cast<void>(merge_datasets({folder_ / "a"}, folder_ / "deep" / "out"));
  EXPECT_TRUE(read_file(folder_ / "deep" / "out.bin") == read_file(folder_ / "a.bin"));
  EXPECT_TRUE(read_file(folder_ / "deep" / "out.idx") == read_file(folder_ / "a.idx"));
}

TEST_F(MergeTest, TakesTheDatasetsOfAFolderInTheOrderOfTheirNames) {
  for (const char* name : {"b", "a.x", "c"}) write(name, {{{1}}});
  write_quickly(folder_ / "notes.txt", "");
  EXPECT_EQ(dataset_prefixes({folder_, "other"}),
            (std::vector<Path>{folder_ / "a.x", folder_ / "b", folder_ / "c", "other"}));
  make_folder(folder_ / "empty");
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(dataset_prefixes({folder_ / "empty"})); }),
                       "holds no dataset"));
}

TEST_F(MergeTest, RefusesOtherTypesTheOutputAmongTheInputsAndDamageBeforeItWrites) {
  write("a", {{{1}}});
  write("wide", {{{1}}}, 4, 4);
  write("wider", {{{1}}}, 5, 8);
  const auto refusal = [&](const std::vector<Path>& prefixes, const char* output) {
    const auto before = names();
    const std::string error =
        error_of([&] { static_cast<void>(merge_datasets(prefixes, folder_ / output)); });
    EXPECT_EQ(names(), before);
    return error;
  };
  EXPECT_TRUE(contains(refusal({folder_ / "a", folder_ / "wide"}, "out"), "wide.idx: holds i32"));
  EXPECT_TRUE(contains(refusal({folder_ / "wider"}, "out"), "holds i64"));
  EXPECT_TRUE(contains(refusal({folder_ / "a"}, "a"), "is one of the datasets to merge"));
  EXPECT_TRUE(contains(refusal({folder_ / "a", folder_ / "none"}, "out"), "none.idx"));
}

}  // namespace
}  // namespace trireme::data
