#include "generate/answer_text.h"

#include <gtest/gtest.h>

#include "core/random.h"

namespace trireme::generate {
namespace {

// Feeds a text in pieces; what came out, a piece per call.
std::vector<std::string> feed(AnswerText& answer, const std::vector<std::string>& pieces) {
  std::vector<std::string> out;
  for (const std::string& piece : pieces) {
    if (answer.stopped()) break;
    out.emplace_back(answer.put(piece));
  }
  out.emplace_back(answer.finish());
  return out;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

using Pieces = std::vector<std::string>;

TEST(AnswerText, HoldsBackPartsOfCharacters) {
  AnswerText answer;
  EXPECT_EQ(feed(answer, {"a\xC3", "\xA9", "\xE2\x82", "\xAC!", "\xF0\x9F\x8C", "\x8A"}),
            (Pieces{"a", "\xC3\xA9", "", "\xE2\x82\xAC!", "", "\xF0\x9F\x8C\x8A", ""}));
}

TEST(AnswerText, GivesBytesThatAreNoCharacterAsTheyAre) {
  AnswerText answer;
  EXPECT_EQ(feed(answer, {"\xFF", "\x80\x80\x80\x80", "\xE2", "x", "\xC0", "\xE2\x82"}),
            (Pieces{"\xFF", "\x80\x80\x80\x80", "", "\xE2x", "\xC0", "", "\xE2\x82"}));
}

TEST(AnswerText, StopsOverTheBordersOfTokensAndShowsNothingOfTheStopText) {
  AnswerText answer({"END."});
  EXPECT_EQ(feed(answer, {"one E", "N two", " EN", "D", ". three", "four"}),
            (Pieces{"one ", "EN two", " ", "", "", ""}));
  EXPECT_TRUE(answer.stopped());
}

TEST(AnswerText, GivesOutWhatOnlyBeganLikeAStopText) {
  AnswerText answer({"\n\n", "User:"});
  EXPECT_EQ(joined(feed(answer, {"a\n", "b\nUse", "r"})), "a\nb\nUser");
  EXPECT_FALSE(answer.stopped());
}

TEST(AnswerText, StopsAtTheStopTextThatIsWholeFirst) {
  AnswerText nested({"abcdef", "cd"});
  EXPECT_EQ(joined(feed(nested, {"xabcdef"})), "xab");
  AnswerText same_end({"cd", "bcd"});
  EXPECT_EQ(joined(feed(same_end, {"abcd"})), "a");
  AnswerText repeated({"aab"});
  EXPECT_EQ(joined(feed(repeated, {"aa", "aab"})), "aa");
}

TEST(AnswerText, DoesNotDependOnTheBordersOfTokens) {
  const std::vector<std::string> stops = {"aba", "bb\xC3\xA9",
                                          "\xC3\xA9"
                                          "aa"};
  int stopped = 0;
  for (uint64_t trial = 0; trial < 400; ++trial) {
    const RandomStream random = {.seed = 9, .site = RandomSite::mock_data, .sample = trial};
    std::string text;
    for (uint64_t i = 0; i < 12; ++i) {
      const char* const letters[] = {"a", "b", "\xC3\xA9"};
      text += letters[random.bits(i) % 3];
    }
    std::vector<std::string> bytes;
    for (const char byte : text) bytes.emplace_back(1, byte);
    AnswerText by_byte(stops);
    const std::string expected = joined(feed(by_byte, bytes));
    stopped += by_byte.stopped() ? 1 : 0;
    EXPECT_EQ(text.rfind(expected, 0), 0U);
    EXPECT_TRUE(by_byte.stopped() || expected == text);
    for (const std::string& stop : stops) EXPECT_EQ(expected.find(stop), std::string::npos);

    std::vector<std::string> pieces = {""};
    for (uint64_t i = 0; i < text.size(); ++i) {
      if (random.bits(100 + i) % 3 == 0) pieces.emplace_back();
      pieces.back() += text[i];
    }
    AnswerText by_piece(stops);
    EXPECT_EQ(joined(feed(by_piece, pieces)), expected) << text;
    EXPECT_EQ(by_piece.stopped(), by_byte.stopped());
  }
  EXPECT_GT(stopped, 50);
  EXPECT_LT(stopped, 350);
}

}  // namespace
}  // namespace trireme::generate
