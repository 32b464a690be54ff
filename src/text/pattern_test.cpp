#include "text/pattern.h"

#include "text/split.h"
#include "text/test_support.h"

namespace trireme::text {
namespace {

TEST(Pattern, WhiteSpaceIsTheUnicodeProperty) {
  EXPECT_EQ(to_pcre2(R"(\s+(?!\S)|[^\s\p{L}])"),
            R"(\p{White_Space}+(?!\P{White_Space})|[^\p{White_Space}\p{L}])");
}

TEST(Pattern, WhatBothKnowIsKept) {
  for (const char* same :
       {R"((?i:'s|'ll)|\p{N}{1,3}|.[a-z\]\-]*?)", R"((?<=\p{Lu})\P{Zs}++(?>x{2,}?)(y))",
        R"(\.\\\ \n\d\D)", "caf\u00e9|[\u4e00-\u9fa5]"})
    EXPECT_EQ(to_pcre2(same), same);
}

TEST(Pattern, NamesThatDifferAreTranslated) {
  EXPECT_EQ(to_pcre2(R"(\v\x7f\u4e00\x{1F6A3}[\u0000])"),
            R"(\x0B\x{7f}\x{4e00}\x{1F6A3}[\x{0000}])");
  EXPECT_EQ(to_pcre2(R"(\p{Greek}\P{Han}\p{White_Space})"),
            R"(\p{sc:Greek}\P{sc:Han}\p{White_Space})");
}

TEST(Pattern, WhatMeansSomethingElseInOnigurumaIsRefusedWithItsPlace) {
  for (const auto& [pattern, part] : std::vector<std::pair<std::string, std::string>>{
           {R"(a\w)", "offset 1: \"\\w\""},
           {R"(\ba)", "\\b"},
           {R"(\h)", "\\h"},
           {R"(\Qa\E)", "\\Q"},
           {R"((a)\1)", "\\1"},
           {"^a", "\"^\""},
           {"a$", "\"$\""},
           {"a}", "\"}\""},
           {"a]", "\"]\""},
           {"a{1,3}+", "offset 1: what stands behind this repeat"},
           {"a{3}?", "what stands behind this repeat"},
           {"a{,3}", "none of {n}"},
           {"a{x", "none of {n}"},
           {"a**", "nothing to repeat"},
           {"*a", "nothing to repeat"},
           {"(*UTF)a", "nothing to repeat"},
           {"(?!a)+b", "nothing to repeat"},
           {"(?i)a", "kind of group"},
           {"(?m:a)", "kind of group"},
           {"(?<n>a)", "kind of group"},
           {"(?#x)a", "kind of group"},
           {"(a", "no end"},
           {"a)", "ends no group"},
           {"[a", "no end"},
           {"[]a]", "must be written"},
           {"[a[b]]", "sets inside sets"},
           {"[[:alpha:]]", "sets inside sets"},
           {"[a&&b]", "intersections"},
           {R"(\pL)", "\\p{Name}"},
           {R"(\p{^L})", "property \"^L\""},
           {R"(\x8F)", "from 0x80 on"},
           {R"(\x8)", "not whole"},
           {R"(\u123)", "not whole"},
           {R"(\x{})", "not whole"},
           {"a\\", "at the end"},
           {std::string("a\0b", 3), "zero byte"},
           {R"((?i:\p{Lu}))", "class inside (?i:...)"},
           {R"((?i:(a\x41)))", "inside (?i:...)"},
           {"(?i:\u00e9)", "beyond ASCII inside (?i:...)"},
           {"(?i:maSt)", "\"st\" inside (?i:...)"}}) {
    const std::string message = message_of([&] { (void)to_pcre2(pattern); });
    EXPECT_NE(message.find("split pattern: at offset"), std::string::npos) << pattern << message;
    EXPECT_NE(message.find(part), std::string::npos) << pattern << ": " << message;
  }
}

TEST(Pattern, WhatPcre2DoesNotKnowIsRefused) {
  for (const char* pattern :
       {R"(\p{Nothing})", "(?<=a+)b", R"(\x{110000})", "a{99999}", R"(\p{Qq})", "\xFF"}) {
    const std::string message = message_of([&] { const Splitter splitter(pattern); });
    EXPECT_NE(message.find("PCRE2 does not compile"), std::string::npos) << pattern << message;
  }
}

TEST(Pattern, ATextBecomesThePatternThatMatchesIt) {
  std::string ascii;
  for (char c = 1; c != 127; ++c) ascii += c;
  const Splitter splitter(pattern_of_text(ascii));
  Pieces pieces(splitter);
  const std::string text = "a" + ascii + ascii + "b";
  pieces.start(text);
  std::vector<std::string> found;
  for (std::string_view piece; pieces.next(piece);) found.emplace_back(piece);
  EXPECT_EQ(found, (std::vector<std::string>{"a", ascii, ascii, "b"}));
}

}  // namespace
}  // namespace trireme::text
