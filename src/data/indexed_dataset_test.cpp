#include "data/indexed_dataset.h"

#include <limits>

#include "data/indexed_writer.h"
#include "data/test_dataset.h"

namespace trireme::data {
namespace {

using IndexedDatasetTest = FolderTest;

const Documents kDocuments = {{{7, 1, 65535}}, {}, {{0}, {}, {12, 13}}, {{5}}};

void write_with_writer(const Path& prefix, const Documents& documents, TokenType type) {
  IndexedWriter writer(prefix, type);
  for (const auto& document : documents) {
    for (const auto& sequence : document) {
      // In two parts, as a long text arrives.
      const std::vector<int32_t> tokens(sequence.begin(), sequence.end());
      writer.append(std::span(tokens).first(tokens.size() / 2));
      writer.append(std::span(tokens).subspan(tokens.size() / 2));
      writer.end_sequence();
    }
    writer.end_document();
  }
  writer.commit();
}

std::vector<int32_t> read_all(const IndexedDataset& dataset, int64_t sequence) {
  std::vector<int32_t> tokens(static_cast<size_t>(dataset.length(sequence)));
  dataset.read(sequence, 0, tokens);
  return tokens;
}

TEST_F(IndexedDatasetTest, WriterMakesTheBytesOfAnIndependentOne) {
  for (const auto& [type, code, item] :
       {std::tuple(TokenType::u16, 8, 2), std::tuple(TokenType::i32, 4, 4)}) {
    const PlainFiles expected = plain_files(kDocuments, code, item);
    write_with_writer(folder_ / "w", kDocuments, type);
    EXPECT_EQ(read_file(folder_ / "w.idx"), expected.idx);
    EXPECT_EQ(read_file(folder_ / "w.bin"), expected.bin);
  }
}

TEST_F(IndexedDatasetTest, TokenTypeFollowsTheVocabulary) {
  EXPECT_EQ(token_type_for(50257), TokenType::u16);
  EXPECT_EQ(token_type_for(65499), TokenType::u16);
  EXPECT_EQ(token_type_for(65500), TokenType::i32);
}

TEST_F(IndexedDatasetTest, ReadsEveryIntegerType) {
  const std::vector<std::tuple<TokenType, int, std::vector<int64_t>>> cases = {
      {TokenType::u8, 1, {0, 200, 255}},           {TokenType::i8, 1, {0, 127, -1}},
      {TokenType::i16, 2, {0, 32767, -2}},         {TokenType::i32, 4, {0, 2147483647, -3}},
      {TokenType::i64, 8, {0, 2147483647, 70000}}, {TokenType::u16, 2, {0, 40000, 65535}}};
  for (const auto& [type, item, tokens] : cases) {
    write_files(folder_ / "d", plain_files({{tokens}}, static_cast<int>(type), item));
    const IndexedDataset dataset(folder_ / "d");
    EXPECT_EQ(dataset.token_type(), type);
    const std::vector<int32_t> expected(tokens.begin(), tokens.end());
    EXPECT_EQ(read_all(dataset, 0), expected) << name_of(type);
    ThreadPool pool(2);
    EXPECT_EQ(dataset.largest_token(pool), *std::max_element(tokens.begin(), tokens.end()));
  }
}

TEST_F(IndexedDatasetTest, IdsBeyond32BitsDoNotWrapIntoTheVocabulary) {
  write_files(folder_ / "d", plain_files({{{(int64_t{1} << 32) + 5, -7, 5}}}, 5, 8));
  const IndexedDataset dataset(folder_ / "d");
  EXPECT_EQ(read_all(dataset, 0), (std::vector<int32_t>{-1, -1, 5}));
  ThreadPool pool(1);
  EXPECT_EQ(dataset.largest_token(pool), (int64_t{1} << 32) + 5);
}

TEST_F(IndexedDatasetTest, GivesBackDocumentsSequencesAndRanges) {
  write_with_writer(folder_ / "d", kDocuments, TokenType::u16);
  const IndexedDataset dataset(folder_ / "d");
  EXPECT_EQ(dataset.documents(), 4);
  EXPECT_EQ(dataset.sequences(), 5);
  EXPECT_EQ(dataset.tokens(), 7);
  std::vector<int64_t> bounds;
  for (int64_t document = 0; document <= 4; ++document)
    bounds.push_back(dataset.first_sequence(document));
  EXPECT_EQ(bounds, (std::vector<int64_t>{0, 1, 1, 4, 5}));
  EXPECT_EQ(read_all(dataset, 3), (std::vector<int32_t>{12, 13}));
  EXPECT_TRUE(read_all(dataset, 2).empty());
  std::vector<int32_t> part(2);
  dataset.read(0, 1, part);
  EXPECT_EQ(part, (std::vector<int32_t>{1, 65535}));
  dataset.read_stream(2, part);
  EXPECT_EQ(part, (std::vector<int32_t>{65535, 0}));
}

TEST_F(IndexedDatasetTest, LargestTokenOfManyBlocksIsFoundByAnyNumberOfThreads) {
  Documents documents = {{std::vector<int64_t>((int64_t{5} << 19) + 3, 4)}};
  documents[0][0].back() = 99;
  write_files(folder_ / "d", plain_files(documents, 8, 2));
  const IndexedDataset dataset(folder_ / "d");
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    EXPECT_EQ(dataset.largest_token(pool), 99);
  }
}

TEST_F(IndexedDatasetTest, EmptyDatasetIsReadAsSuch) {
  write_files(folder_ / "d", plain_files({}, 8, 2));
  const IndexedDataset dataset(folder_ / "d");
  EXPECT_EQ(dataset.documents() + dataset.sequences() + dataset.tokens(), 0);
  ThreadPool pool(1);
  EXPECT_EQ(dataset.largest_token(pool), -1);
}

TEST_F(IndexedDatasetTest, UncommittedWriterLeavesTheOldPair) {
  write_with_writer(folder_ / "d", kDocuments, TokenType::u16);
  const std::string before = read_file(folder_ / "d.idx");
  {
    IndexedWriter writer(folder_ / "d", TokenType::i32);
    writer.append(std::vector<int32_t>(3 << 20, 1));
    writer.end_sequence();
    writer.end_document();
  }
  EXPECT_EQ(names(), (std::vector<std::string>{"d.bin", "d.idx"}));
  EXPECT_EQ(read_file(folder_ / "d.idx"), before);
  EXPECT_EQ(IndexedDataset(folder_ / "d").tokens(), 7);
}

TEST_F(IndexedDatasetTest, FullDiskAtTheIndexLeavesTheOldPair) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  write_with_writer(folder_ / "d", kDocuments, TokenType::u16);
  std::filesystem::create_symlink("/dev/full",
                                  folder_ / ("d.idx.tmp-" + std::to_string(::getpid())));
  const std::string error = error_of([&] {
    write_with_writer(folder_ / "d", {{{1, 2}}}, TokenType::u16);
  });
  EXPECT_TRUE(contains(error, "No space left")) << error;
  EXPECT_EQ(IndexedDataset(folder_ / "d").tokens(), 7);
}

/// A small valid pair and ways to make it lie.
class LyingIndexTest : public FolderTest {
 protected:
  LyingIndexTest() : files_(plain_files(kDocuments, 8, 2)) {}

  /// The message after a change of the files; empty when they pass.
  [[nodiscard]] std::string message() const {
    write_files(folder_ / "d", files_);
    return error_of([&] { IndexedDataset dataset(folder_ / "d"); });
  }
  template <class T>
  void set(size_t offset, T value) {
    std::memcpy(files_.idx.data() + offset, &value, sizeof(T));
  }

  PlainFiles files_;
  static constexpr size_t kLengths = 34;
  static constexpr size_t kOffsets = 34 + 4 * 5;
  static constexpr size_t kBounds = 34 + 12 * 5;
};

TEST_F(LyingIndexTest, TrueOnePasses) {
  EXPECT_EQ(message(), "");
}

TEST_F(LyingIndexTest, MissingFilesAreNamed) {
  write_quickly(folder_ / "d.idx", files_.idx);
  EXPECT_TRUE(contains(error_of([&] { IndexedDataset dataset(folder_ / "d"); }), "d.bin"));
  EXPECT_TRUE(contains(error_of([&] { IndexedDataset dataset(folder_ / "e"); }), "e.idx"));
}

TEST_F(LyingIndexTest, WrongMagicIsShown) {
  files_.idx[3] = 'X';
  const std::string found = message();
  EXPECT_TRUE(contains(found, "MMIXIDX\\x00\\x00")) << found;
  EXPECT_TRUE(contains(found, "d.idx")) << found;
}

TEST_F(LyingIndexTest, WrongVersionIsShown) {
  set<uint64_t>(9, 2);
  EXPECT_TRUE(contains(message(), "version 2"));
}

TEST_F(LyingIndexTest, TypesThatAreNotIntegersAreRefused) {
  for (const uint8_t code : {uint8_t{0}, uint8_t{6}, uint8_t{7}, uint8_t{9}, uint8_t{255}}) {
    set(17, code);
    EXPECT_TRUE(contains(message(), "token type code " + std::to_string(code)));
  }
}

TEST_F(LyingIndexTest, OtherTypeThanTheTokensHaveIsFound) {
  set<uint8_t>(17, 4);
  EXPECT_TRUE(contains(message(), "says sequence 1 starts at byte 6"));
}

TEST_F(LyingIndexTest, CountsThatWrapAroundAreRefused) {
  for (const uint64_t count : {std::numeric_limits<uint64_t>::max(), uint64_t{1} << 62,
                               uint64_t{1} << 60, (uint64_t{1} << 63) / 3, uint64_t{6}}) {
    files_ = plain_files(kDocuments, 8, 2);
    set(18, count);
    EXPECT_NE(message(), "") << count;
    files_ = plain_files(kDocuments, 8, 2);
    set(26, count);
    EXPECT_NE(message(), "") << count;
  }
  files_ = plain_files(kDocuments, 8, 2);
  set<uint64_t>(26, 0);
  EXPECT_TRUE(contains(message(), "empty document array"));
}

TEST_F(LyingIndexTest, NegativeLengthsAndWrongOffsetsAreNamed) {
  set<int32_t>(kLengths + 4, -1);
  EXPECT_TRUE(contains(message(), "sequence 1 has -1 tokens"));
  files_ = plain_files(kDocuments, 8, 2);
  set<int64_t>(kOffsets + 16, 6);
  EXPECT_TRUE(contains(message(), "sequence 2 starts at byte 6, the lengths before it make 8"));
}

TEST_F(LyingIndexTest, DocumentBoundsMustAscendFromZeroToTheSequences) {
  for (const auto& [entry, value] : {std::pair(0, 1), {1, 2}, {2, 6}, {3, 0}, {4, 4}, {2, -1}}) {
    files_ = plain_files(kDocuments, 8, 2);
    set<int64_t>(kBounds + 8 * static_cast<size_t>(entry), value);
    if (entry == 1) {
      EXPECT_TRUE(contains(message(), "document bound 2 = 1")) << message();
    } else {
      EXPECT_TRUE(contains(message(), "document bound")) << message();
    }
  }
}

TEST_F(LyingIndexTest, TokensShorterOrLongerThanTheIndexSaysAreRefused) {
  files_.bin.pop_back();
  const std::string shorter = message();
  EXPECT_TRUE(contains(shorter, "d.bin: has 13 bytes")) << shorter;
  EXPECT_TRUE(contains(shorter, "not written or copied to its end")) << shorter;
  files_.bin += "abc";
  EXPECT_TRUE(contains(message(), "do not belong together"));
}

TEST_F(LyingIndexTest, MultimodalModesAndOtherExtraBytesAreTold) {
  files_.idx += std::string(5, '\0');
  EXPECT_TRUE(contains(message(), "multimodal"));
  files_.idx += "x";
  EXPECT_TRUE(contains(message(), "6 bytes more"));
}

/// Everything a dataset says about itself is true, and all of it can be read.
void expect_consistent(const IndexedDataset& dataset) {
  int64_t tokens = 0;
  for (int64_t sequence = 0; sequence < dataset.sequences(); ++sequence) {
    ASSERT_GE(dataset.length(sequence), 0);
    tokens += static_cast<int64_t>(read_all(dataset, sequence).size());
  }
  EXPECT_EQ(tokens, dataset.tokens());
  EXPECT_EQ(dataset.first_sequence(0), 0);
  for (int64_t document = 0; document < dataset.documents(); ++document)
    EXPECT_LE(dataset.first_sequence(document), dataset.first_sequence(document + 1));
  EXPECT_EQ(dataset.first_sequence(dataset.documents()), dataset.sequences());
}

TEST_F(LyingIndexTest, AnyDamagedByteOrLengthGivesAnErrorOrAConsistentDataset) {
  const PlainFiles whole = files_;
  int refused = 0;
  int passed = 0;
  const auto attempt = [&] {
    write_files(folder_ / "d", files_);
    try {
      expect_consistent(IndexedDataset(folder_ / "d"));
      ++passed;
    } catch (const Error& error) {
      EXPECT_TRUE(contains(error.what(), (folder_ / "d.").string())) << error.what();
      ++refused;
    }
  };
  for (size_t byte = 0; byte < whole.idx.size(); ++byte) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      files_.idx = whole.idx;
      files_.idx[byte] = static_cast<char>(files_.idx[byte] ^ flip);
      attempt();
    }
    files_.idx = whole.idx.substr(0, byte);
    attempt();
  }
  files_.idx = whole.idx;
  for (size_t bytes = 0; bytes < whole.bin.size(); ++bytes) {
    files_.bin = whole.bin.substr(0, bytes);
    attempt();
  }
  EXPECT_GT(refused, 400);
  EXPECT_GT(passed, 0);  // a document bound moved by one, or another type of the same size
}

}  // namespace
}  // namespace trireme::data
