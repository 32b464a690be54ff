#include "data/open_sources.h"

#include <gtest/gtest.h>

#include <set>

#include "data/test_dataset.h"

namespace trireme::data {
namespace {

class OpenSourcesTest : public FolderTest {
 protected:
  /// A dataset of documents of `length` tokens that count from `first`; its prefix.
  std::string dataset(const std::string& name, int64_t documents, int64_t length, int64_t first) {
    const Path prefix = folder_ / name;
    write_files(
        prefix,
        plain_files(
            counting_documents(std::vector<int64_t>(static_cast<size_t>(documents), length), first),
            4, 4));
    return prefix.string();
  }
  OpenSources open(const SourceOptions& options, int threads = 2) {
    ThreadPool pool(threads);
    return open_sources(options, pool);
  }
  std::string refusal(const SourceOptions& options) {
    return error_of([&] { static_cast<void>(open(options)); });
  }
  static std::vector<std::vector<int32_t>> rows(const SampleSource& source, int64_t count) {
    std::vector<std::vector<int32_t>> all;
    for (int64_t k = 0; k < count; ++k) {
      all.emplace_back(static_cast<size_t>(source.sequence_length() + 1));
      source.read(k, all.back());
    }
    return all;
  }
};

TEST_F(OpenSourcesTest, PartsOfASplitReadTheirOwnSequencesOnly) {
  const OpenSources sources = open({.data_path = {dataset("d", 20, 10, 0)},
                                    .split = "50,30,20",
                                    .sequence_length = 4,
                                    .requested = {100, 0, 7}});
  EXPECT_EQ(sources[Part::validation].source, nullptr);
  for (const auto& row : rows(*sources[Part::train].source, 100)) {
    for (const int32_t token : row) EXPECT_LT(token, 100);
  }
  for (const auto& row : rows(*sources[Part::test].source, 7)) {
    for (const int32_t token : row) EXPECT_GE(token, 160);
  }
}

TEST_F(OpenSourcesTest, PathsOfPartsAreReadWhole) {
  const OpenSources sources = open({.part_paths = {{{dataset("t", 5, 10, 0)},
                                                    {dataset("v", 5, 10, 1000)},
                                                    {dataset("e", 5, 10, 2000)}}},
                                    .sequence_length = 4,
                                    .requested = {12, 12, 12}});
  for (const Part part : kParts) {
    std::set<int32_t> inputs;
    for (const auto& row : rows(*sources[part].source, 12)) {
      inputs.insert(row.begin(), row.end() - 1);
    }
    EXPECT_EQ(inputs.size(), 48U);  // one epoch of 50: 12 samples of 4
    EXPECT_EQ(*inputs.begin() / 1000, static_cast<int>(part));
    EXPECT_EQ(*inputs.rbegin() / 1000, static_cast<int>(part));
  }
}

TEST_F(OpenSourcesTest, BlendsTakeFromEachDatasetWhatItWouldGiveAlone) {
  const std::string a = dataset("a", 30, 20, 0);
  const std::string b = dataset("b", 50, 20, 1000);
  const std::string c = dataset("c", 20, 20, 3000);
  for (const int threads : {1, 2, 5}) {  // one index at a time, or several
    const OpenSources sources = open({.data_path = {"0.3", a, "0.5", b, "0.2", c},
                                      .split = "90,10",
                                      .sequence_length = 8,
                                      .requested = {12, 5, 0}},
                                     threads);
    const OpenPart& train = sources[Part::train];
    ASSERT_EQ(train.datasets.size(), 3U);
    EXPECT_EQ(train.source->samples(), 13);  // 4 + 6 + 3
    std::vector<std::vector<std::vector<int32_t>>> alone;
    const std::vector<int64_t> built = {5, 7, 4};
    for (size_t i = 0; i < 3; ++i) {
      const OpenSources one = open({.data_path = {std::vector{a, b, c}[i]},
                                    .split = "90,10",
                                    .sequence_length = 8,
                                    .requested = {built[i], 0, 0}});
      alone.push_back(rows(*one[Part::train].source, built[i]));
    }
    const std::vector<BlendIndex::Place> golden = {{1, 0}, {0, 0}, {2, 0}, {1, 1}, {0, 1}, {1, 2},
                                                   {2, 1}, {1, 3}, {0, 2}, {1, 4}, {0, 3}, {1, 5}};
    const auto all = rows(*train.source, 12);
    for (size_t k = 0; k < golden.size(); ++k) {
      EXPECT_EQ(
          all[k],
          alone[static_cast<size_t>(golden[k].dataset)][static_cast<size_t>(golden[k].sample)])
          << k;
    }
    EXPECT_EQ(train.samples_among(12), (std::vector<int64_t>{4, 6, 2}));
    EXPECT_TRUE(contains(train.source->origin(0, 0), "b.bin"));
    EXPECT_TRUE(contains(train.source->origin(1, 0), "a.bin"));
  }
}

TEST_F(OpenSourcesTest, UnweightedDatasetsAreReadOnce) {
  const std::string a = dataset("a", 3, 20, 0);
  const std::string b = dataset("b", 6, 20, 1000);
  const SourceOptions options = {
      .data_path = {a, b}, .split = "1", .sequence_length = 4, .requested = {43, 0, 0}};
  // 14 and 29 samples.
  std::set<int32_t> inputs;
  for (const auto& row : rows(*open(options)[Part::train].source, 43)) {
    for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(inputs.insert(row[i]).second) << row[i];
  }
  SourceOptions longer = options;
  longer.requested.train = 44;
  EXPECT_TRUE(contains(refusal(longer), "takes 44 samples, its 2 datasets have 43"))
      << refusal(longer);
}

TEST_F(OpenSourcesTest, ADatasetNamedTwiceGivesEachSampleTwice) {
  const std::string a = dataset("a", 10, 20, 0);
  testing::internal::CaptureStderr();
  const auto all = rows(*open({.data_path = {"1", a, "1", a},
                               .split = "1",
                               .sequence_length = 8,
                               .requested = {10, 0, 0}})[Part::train]
                             .source,
                        10);
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "is named twice"));
  for (size_t k = 0; k < 10; k += 2) EXPECT_EQ(all[k], all[k + 1]);
  EXPECT_NE(all[0], all[2]);
}

TEST_F(OpenSourcesTest, MockDataNeedsNoFile) {
  const OpenSources sources =
      open({.mock_data = true, .vocab_size = 17, .sequence_length = 6, .requested = {5, 3, 0}});
  EXPECT_EQ(sources[Part::train].source->samples(), 5);
  EXPECT_EQ(sources[Part::validation].source->samples(), 3);
  EXPECT_EQ(sources[Part::test].source, nullptr);
  EXPECT_TRUE(sources[Part::train].datasets.empty());
}

TEST_F(OpenSourcesTest, PartsThatAreEmptyOrTooShortAreRefusedByDatasetAndPart) {
  const std::string d = dataset("d", 3, 10, 0);
  const auto with = [&](int64_t s, RequestedSamples requested) {
    return refusal({.data_path = {d}, .sequence_length = s, .requested = requested});
  };
  EXPECT_EQ(with(4, {100, 0, 0}), "");
  EXPECT_TRUE(contains(with(4, {100, 1, 0}), "d, validation part: the split leaves it none"));
  EXPECT_TRUE(contains(with(4, {100, 0, 1}), "d, test part: the split leaves it none"));
  EXPECT_EQ(with(29, {100, 0, 0}), "");
  EXPECT_TRUE(contains(with(30, {100, 0, 0}), "d, train part: has 30 tokens in 3 sequences"));
  // One of a blend, too.
  const std::string large = dataset("large", 300, 10, 0);
  EXPECT_TRUE(contains(
      refusal({.data_path = {"1", large, "1", d}, .sequence_length = 4, .requested = {10, 10, 0}}),
      "/d, validation part: the split leaves it none"));
  write_files(folder_ / "empty", plain_files({}, 8, 2));
  EXPECT_TRUE(contains(refusal({.data_path = {(folder_ / "empty").string()},
                                .sequence_length = 4,
                                .requested = {10, 0, 0}}),
                       "empty, train part: the dataset is empty"));
  EXPECT_TRUE(contains(
      refusal({.part_paths = {{{d}, {}, {}}}, .sequence_length = 4, .requested = {10, 10, 0}}),
      "the validation part has no dataset"));
  EXPECT_TRUE(contains(refusal({.sequence_length = 4, .requested = {10, 0, 0}}),
                       "the train part has no dataset"));
}

TEST_F(OpenSourcesTest, ABlendThatAsksADatasetForMoreThanItHasIsRefused) {
  const std::string a = dataset("a", 10, 20, 0);
  ThreadPool pool(1);
  const auto samples = [&](int64_t requested) {
    return std::make_shared<const IndexedSamples>(std::make_shared<const IndexedDataset>(a),
                                                  SequenceRange{0, 10}, Part::train,
                                                  SampleOrder{10, requested, 1}, nullptr, pool);
  };
  // 19 samples in an epoch, 39 in two.
  const auto blend = [] { return BlendIndex::by_weights(std::vector<double>{0.5, 0.5}, 60); };
  EXPECT_EQ(error_of([&] { BlendedSamples({samples(30), samples(30)}, blend()); }), "");
  const std::string error = error_of([&] { BlendedSamples({samples(30), samples(5)}, blend()); });
  EXPECT_TRUE(contains(error, "a: the blend takes 30 samples from it, 19 are made ready")) << error;
}

TEST_F(OpenSourcesTest, TheLengthOfARunShowsInItsEpochsOnly) {
  const std::string a = dataset("a", 10, 20, 0);  // 200 tokens
  const std::string b = dataset("b", 20, 20, 0);
  const OpenSources one =
      open({.data_path = {a}, .split = "1", .sequence_length = 10, .requested = {19, 0, 0}});
  const OpenPart& single = one[Part::train];
  EXPECT_EQ(single.epochs_for(1), single.epochs_for(19));
  EXPECT_NE(single.epochs_for(19), single.epochs_for(20));
  EXPECT_EQ(single.epochs_for(19)[0], single.datasets[0].samples->index().plan().epochs);
  const OpenSources two = open({.data_path = {"1", a, "3", b},
                                .split = "1",
                                .sequence_length = 10,
                                .requested = {19, 0, 0}});
  EXPECT_EQ(two[Part::train].epochs_for(19)[1].epochs, 1);
  EXPECT_EQ(two[Part::train].epochs_for(100)[1].epochs, 2);
}

TEST_F(OpenSourcesTest, ACacheChangesNothingButWhereTheIndexLies) {
  SourceOptions options = {
      .data_path = {"1", dataset("a", 30, 20, 0), "2", dataset("b", 40, 20, 0)},
      .split = "80,20",
      .sequence_length = 8,
      .requested = {90, 20, 0}};
  const auto plain = rows(*open(options)[Part::train].source, 90);
  options.cache = folder_ / "cache";
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(rows(*open(options, 1 + 4 * round)[Part::train].source, 90), plain);
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(*options.cache)) {
      EXPECT_EQ(entry.path().extension(), ".trireme-index");
      ++files;
    }
    EXPECT_EQ(files, 4);
  }
}

}  // namespace
}  // namespace trireme::data
