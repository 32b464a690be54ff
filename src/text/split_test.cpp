#include "text/split.h"

#include "text/pattern.h"
#include "text/test_support.h"

namespace trireme::text {
namespace {

std::vector<std::string> split(const Splitter& splitter, std::string_view text) {
  Pieces pieces(splitter);
  pieces.start(text);
  std::vector<std::string> out;
  for (std::string_view piece; pieces.next(piece);) out.emplace_back(piece);
  return out;
}

std::vector<std::string> split(std::string_view text) {
  return split(Splitter(kGpt2Pattern), text);
}

using Strings = std::vector<std::string>;

TEST(Split, TakesOneSpaceWithTheWordBehindIt) {
  EXPECT_EQ(split("the oars  of 12 ships!"),
            (Strings{"the", " oars", " ", " of", " 12", " ships", "!"}));
  EXPECT_EQ(split("a \n b\n"), (Strings{"a", " \n", " b", "\n"}));
  EXPECT_EQ(split(""), Strings{});
}

TEST(Split, KnowsContractionsInSmallLettersOnly) {
  EXPECT_EQ(split("it's we'll IT'S"), (Strings{"it", "'s", " we", "'ll", " IT", "'", "S"}));
}

TEST(Split, CountsTheMongolianVowelSeparatorAsASymbol) {
  EXPECT_EQ(split("a\u180e b"), (Strings{"a", "\u180e", " b"}));
}

TEST(Split, CountsEveryInvalidByteAsASymbol) {
  EXPECT_EQ(split("a\xFF\xFEz \xC3 1\x80"), (Strings{"a", "\xFF\xFE", "z", " \xC3", " 1", "\x80"}));
  EXPECT_EQ(split("'\xFFs"), (Strings{"'\xFF", "s"}));
}

TEST(Split, PiecesJoinedAreTheText) {
  const Splitter splitter(kGpt2Pattern);
  Random random(1);
  for (size_t round = 0; round < 2000; ++round) {
    const std::string text =
        round % 2 == 0 ? random_text(random, round % 60) : random_bytes(random, round % 60);
    std::string joined;
    for (const std::string& piece : split(splitter, text)) {
      ASSERT_FALSE(piece.empty());
      joined += piece;
    }
    ASSERT_EQ(joined, text);
  }
}

TEST(Split, IsTheSameInterpreted) {
  const Splitter compiled(kGpt2Pattern);
  const Splitter interpreted(kGpt2Pattern, Splitter::Mode::interpreted);
  ASSERT_EQ(interpreted.mode(), Splitter::Mode::interpreted);
  Random random(2);
  for (size_t round = 0; round < 500; ++round) {
    const std::string text = random_text(random, round % 60);
    ASSERT_EQ(split(compiled, text), split(interpreted, text));
  }
  const std::string spaces(1 << 20, ' ');
  EXPECT_EQ(split(interpreted, spaces + "oars").size(), 2U);
}

TEST(Split, TextThatThePatternDoesNotMatchIsAPiece) {
  const Splitter digits(R"(\p{N}+)");
  EXPECT_EQ(split(digits, "ab12c"), (Strings{"ab", "12", "c"}));
  EXPECT_EQ(split(digits, "12"), (Strings{"12"}));
}

TEST(Split, OneWalkerServesManyTexts) {
  const Splitter splitter(kGpt2Pattern);
  Pieces pieces(splitter);
  std::string_view piece;
  pieces.start("a \xFF b");
  ASSERT_TRUE(pieces.next(piece));  // left in the middle
  pieces.start("oars ship");
  ASSERT_TRUE(pieces.next(piece));
  EXPECT_EQ(piece, "oars");
  ASSERT_TRUE(pieces.next(piece));
  EXPECT_EQ(piece, " ship");
  EXPECT_FALSE(pieces.next(piece));
  EXPECT_FALSE(pieces.next(piece));
}

TEST(Split, APatternThatDoesNotCompileIsRefusedWithItsPlace) {
  EXPECT_NE(message_of([] { const Splitter broken("a(b"); }).find("at offset 3"),
            std::string::npos);
}

TEST(Split, APatternThatMayMatchNothingIsRefused) {
  for (const char* pattern : {"", R"(\p{N}*)", "a||b", "(?=a)"}) {
    EXPECT_NE(message_of([&] { const Splitter splitter(pattern); }).find("without taking"),
              std::string::npos)
        << pattern;
  }
}

TEST(Split, AMatchThatWouldTakeForeverIsGivenUp) {
  const Splitter endless("(?:a+)+b");
  Pieces pieces(endless);
  const std::string text = std::string(100, 'a') + "cb";
  pieces.start(text);
  std::string_view piece;
  EXPECT_NE(message_of([&] { (void)pieces.next(piece); }).find("match limit"), std::string::npos);
}

TEST(Split, Llama3sPatternTakesNumbersByThreesAndLineEndsWithSymbols) {
  const Splitter splitter(kLlama3Pattern);
  EXPECT_EQ(
      split(splitter, "it'S 12345 (oars);\n\n  x\t\r\n y"),
      (Strings{"it", "'S", " ", "123", "45", " (", "oars", ");\n\n", " ", " x", "\t\r\n", " y"}));
}

// What find_cut of tokenizer.h relies on.
TEST(Split, NoPieceOfAKnownPatternReachesBeyondALineFeedWithoutWhiteSpaceAround) {
  for (const std::string_view pattern : {kGpt2Pattern, kLlama3Pattern, kQwen2Pattern}) {
    ASSERT_TRUE(cuts_at_lines(pattern));
    const Splitter splitter(pattern);
    Random random(3);
    for (size_t round = 0; round < 3000; ++round) {
      const std::string before = random_text(random, below(random, 12)) + "x.7s'"[below(random, 5)];
      const std::string after = "x/7s'"[below(random, 5)] + random_text(random, below(random, 12));
      Strings expected = split(splitter, before + "\n");
      for (std::string& piece : split(splitter, after)) expected.push_back(std::move(piece));
      ASSERT_EQ(split(splitter, before + "\n" + after), expected);
    }
  }
  EXPECT_FALSE(cuts_at_lines(R"([a-z\n]+)"));
}

}  // namespace
}  // namespace trireme::text
