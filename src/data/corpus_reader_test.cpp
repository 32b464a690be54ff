#include "data/corpus_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "data/legacy_shuffler.h"
#include "data/test_dataset.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace trireme::data {
namespace {

struct Document {
  std::string text;
  std::string file;
  int64_t line = 0;
  int pieces = 0;
};

/// All documents, pieces joined.
std::vector<Document> read_documents(CorpusOptions options, size_t target_bytes = 1) {
  CorpusReader reader(std::move(options));
  std::vector<Document> documents;
  CorpusBatch batch;
  bool open = false;
  while (reader.next(batch, target_bytes)) {
    EXPECT_FALSE(batch.pieces.empty());
    for (const CorpusPiece& piece : batch.pieces) {
      EXPECT_LE(piece.begin + piece.size + kCorpusPadding, batch.buffer.size());
      if (!open)
        documents.push_back({"", reader.files()[piece.file].filename().string(), piece.line});
      documents.back().text += batch.text(piece);
      ++documents.back().pieces;
      open = !piece.ends_document;
      if (!open) {
        EXPECT_EQ(piece.document_is_empty, documents.back().text.empty());
      }
    }
  }
  EXPECT_FALSE(open);
  EXPECT_EQ(reader.bytes_read(), reader.total_bytes());
  return documents;
}

std::vector<std::string> texts(const std::vector<Document>& documents) {
  std::vector<std::string> found;
  for (const Document& document : documents) found.push_back(document.text);
  return found;
}

using Strings = std::vector<std::string>;

class CorpusReaderTest : public FolderTest {
 protected:
  /// Random lines of about the given number of bytes in all; now and then a long one.
  [[nodiscard]] static std::string random_lines(size_t bytes, uint32_t seed) {
    LegacyShuffler random(seed);
    std::string text;
    while (text.size() < bytes) {
      const uint32_t length = random.bounded(20) == 0 ? 40000 : random.bounded(80);
      for (uint32_t i = 0; i < length; ++i)
        text += random.bounded(5) == 0 ? ' ' : static_cast<char>('a' + random.bounded(25));
      text += '\n';
    }
    return text;
  }
};

TEST_F(CorpusReaderTest, PlainFileIsADocumentEvenWhenEmpty) {
  write_quickly(folder_ / "b.txt", "one\ntwo\n");
  write_quickly(folder_ / "a.txt", "");
  write_quickly(folder_ / "c", "no line feed");
  const auto documents =
      read_documents({.inputs = {folder_ / "b.txt", folder_ / "a.txt", folder_ / "c"}});
  EXPECT_EQ(texts(documents), (Strings{"one\ntwo\n", "", "no line feed"}));
}

TEST_F(CorpusReaderTest, LineOfJsonlIsADocumentWithItsNumber) {
  write_quickly(folder_ / "a.jsonl", "\xef\xbb\xbf{1}\r\n\n  \t\r\n{2}\n{3}");
  const auto documents = read_documents({.inputs = {folder_ / "a.jsonl"}});
  EXPECT_EQ(texts(documents), (Strings{"{1}\r", "{2}", "{3}"}));
  EXPECT_EQ(documents[0].line, 1);
  EXPECT_EQ(documents[1].line, 4);
  EXPECT_EQ(documents[2].line, 5);
}

TEST_F(CorpusReaderTest, FormatFollowsTheNameUnlessItIsGiven) {
  write_quickly(folder_ / "a.json", "x\ny");
  write_quickly(folder_ / "b.text", "x\ny");
  const std::vector<Path> inputs = {folder_ / "a.json", folder_ / "b.text"};
  EXPECT_EQ(read_documents({.inputs = inputs}).size(), 3U);
  EXPECT_EQ(read_documents({.inputs = inputs, .format = CorpusFormat::text}).size(), 2U);
  EXPECT_EQ(read_documents({.inputs = inputs, .format = CorpusFormat::jsonl}).size(), 4U);
}

TEST_F(CorpusReaderTest, FolderStandsForItsFilesInTheOrderOfTheirPaths) {
  for (const char* name : {"b/2.txt", "b/10.txt", "a.txt", "c.txt", ".hidden", "b/.git/x"}) {
    make_folder((folder_ / name).parent_path());
    write_quickly(folder_ / name, name);
  }
  EXPECT_EQ(texts(read_documents({.inputs = {folder_}})),
            (Strings{"a.txt", "b/10.txt", "b/2.txt", "c.txt"}));
}

TEST_F(CorpusReaderTest, DocumentsOfAFileAreSplitWhereTold) {
  write_quickly(folder_ / "a", "<>one<><>two\n<>< <three<");
  const auto documents = read_documents({.inputs = {folder_ / "a"}, .split_documents_on = "<>"});
  EXPECT_EQ(texts(documents), (Strings{"one", "two\n", "< <three<"}));
}

TEST_F(CorpusReaderTest, SplittingFindsEveryDelimiterWhereverTheReadsEnd) {
  for (const std::string delimiter : {"\n\n", "<|end|>", "b\na", "\n"}) {
    const std::string text = random_lines(1'500'000, 3);
    write_quickly(folder_ / "a", text);
    Strings expected;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(delimiter, at), text.size());
      if (end > at) expected.push_back(text.substr(at, end - at));
      at = end + delimiter.size();
    }
    for (const size_t target : {size_t{1}, size_t{700'000}}) {
      EXPECT_EQ(texts(read_documents({.inputs = {folder_ / "a"}, .split_documents_on = delimiter},
                                     target)),
                expected);
    }
  }
}

TEST_F(CorpusReaderTest, LongTextComesInPartsThatEncodeLikeTheWhole) {
  const std::string text = random_lines(2'000'000, 4);
  write_quickly(folder_ / "a", text);
  const text::Tokenizer tokenizer(text::make_vocabulary({}, {}));
  CorpusReader reader({.inputs = {folder_ / "a"}});
  CorpusBatch batch;
  std::vector<int32_t> tokens;
  size_t pieces = 0;
  while (reader.next(batch, 1)) {
    for (const CorpusPiece& piece : batch.pieces) {
      EXPECT_LT(piece.size, 600'000U);
      tokenizer.encode(batch.text(piece), tokens);
      ++pieces;
    }
  }
  EXPECT_GT(pieces, 5U);
  EXPECT_EQ(tokens, tokenizer.encode(text));
}

TEST_F(CorpusReaderTest, TextWithoutAPlaceToCutStaysWhole) {
  const std::string text(1'300'000, 'x');
  write_quickly(folder_ / "a", text);
  const auto documents = read_documents({.inputs = {folder_ / "a"}});
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(documents[0].pieces, 1);
  EXPECT_EQ(documents[0].text, text);
}

TEST_F(CorpusReaderTest, LongLinesOfJsonlStayWhole) {
  const std::string line = "{\"text\": \"" + std::string(1'000'000, 'x') + "\"}";
  write_quickly(folder_ / "a.jsonl", line + "\n" + line + "x\n");
  EXPECT_EQ(texts(read_documents({.inputs = {folder_ / "a.jsonl"}})), (Strings{line, line + "x"}));
}

TEST_F(CorpusReaderTest, PipesAreReadWithoutAKnownSize) {
  const Path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "through a pipe"; });
  CorpusReader reader({.inputs = {pipe}});
  EXPECT_EQ(reader.total_bytes(), 0U);
  CorpusBatch batch;
  ASSERT_TRUE(reader.next(batch, 1));
  EXPECT_EQ(batch.text(batch.pieces[0]), "through a pipe");
  EXPECT_FALSE(reader.next(batch, 1));
  writer.join();
}

TEST_F(CorpusReaderTest, CompressedFilesHaveTheDocumentsOfTheFilesInThem) {
  std::string jsonl;
  for (int line = 0; line < 3000; ++line)
    jsonl += "{\"text\": \"" + std::string(200, 'a') + "\"}\n";
  write_quickly(folder_ / "c.jsonl", jsonl);
  write_quickly(folder_ / "c.txt", random_lines(300000, 4));
  for (const char* name : {"c.jsonl", "c.txt"}) {
    const auto plain = texts(read_documents({.inputs = {folder_ / name}}));
    for (const char* tool : {"gzip", "zstd -q"}) {
      const std::string end = std::string(tool) == "gzip" ? ".gz" : ".zst";
      const Path compressed = folder_ / (name + end);
      ASSERT_EQ(std::system((std::string(tool) + " -c " + (folder_ / name).string() + " > " +
                             compressed.string())
                                .c_str()),
                0);
      EXPECT_TRUE(texts(read_documents({.inputs = {compressed}}, 1 << 16)) == plain) << compressed;
    }
  }
}

TEST_F(CorpusReaderTest, FolderThatLinksBackToItselfIsReadOnce) {
  make_folder(folder_ / "loop" / "deep");
  write_quickly(folder_ / "loop" / "a.txt", "one");
  write_quickly(folder_ / "loop" / "deep" / "b.txt", "two");
  std::filesystem::create_directory_symlink("..", folder_ / "loop" / "deep" / "up");
  ASSERT_EQ(::mkfifo((folder_ / "loop" / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(texts(read_documents({.inputs = {folder_ / "loop"}})), (Strings{"one", "two"}));
}

TEST_F(CorpusReaderTest, InputsThatCannotBeReadAreNamedBeforeTheWorkBegins) {
  write_quickly(folder_ / "a.txt", "text");
  write_quickly(folder_ / "a.jsonl.xz", "text");
  make_folder(folder_ / "empty");
  const auto open = [&](const char* name) {
    return error_of([&] { CorpusReader reader({.inputs = {folder_ / "a.txt", folder_ / name}}); });
  };
  EXPECT_TRUE(contains(open("nothing.txt"), "nothing.txt: cannot open: No such file"));
  EXPECT_TRUE(contains(open("a.jsonl.xz"), "a.jsonl.xz: is compressed"));
  EXPECT_TRUE(contains(open("empty"), "holds no files"));
}

}  // namespace
}  // namespace trireme::data
