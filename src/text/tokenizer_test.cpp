#include "text/tokenizer.h"

#include "core/thread_pool.h"
#include "text/test_support.h"

namespace trireme::text {
namespace {

std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) {
  return small_tokenizer().encode(text, options);
}

TEST(Tokenizer, AnyBytesComeBack) {
  Encoder encoder(small_tokenizer());
  Random random(5);
  for (size_t size = 0; size < 600; ++size) {
    for (const std::string& text : {random_bytes(random, size), random_text(random, size / 2)}) {
      std::vector<int32_t> ids;
      encoder.encode(text, ids);
      ASSERT_EQ(small_tokenizer().decode(ids), text);
    }
  }
  const std::string large = random_bytes(random, 1 << 20);
  EXPECT_EQ(small_tokenizer().decode(encode(large)), large);
}

TEST(Tokenizer, EncodingAppends) {
  std::vector<int32_t> ids = {7};
  small_tokenizer().encode("!", ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{7, 0}));
}

TEST(Tokenizer, EncodesTheSameWithAndWithoutMemory) {
  Encoder encoder(small_tokenizer());
  Random random(6);
  for (size_t round = 0; round < 3000; ++round) {
    const std::string text = random_text(random, 1 + below(random, 40));
    std::vector<int32_t> remembered;
    encoder.encode(text, remembered);
    ASSERT_EQ(remembered, encode(text)) << text;
  }
}

TEST(Tokenizer, ServesManyThreads) {
  Random random(7);
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> expected;
  for (int text = 0; text < 200; ++text) {
    texts.push_back(random_text(random, 50));
    expected.push_back(encode(texts.back()));
  }
  ThreadPool pool(3);
  pool.parallel_for(2000, [&](int64_t index, int /*thread*/) {
    const auto text = static_cast<size_t>(index) % texts.size();
    const std::vector<int32_t> ids = encode(texts[text]);
    if (ids != expected[text]) throw std::runtime_error("differs");
    if (small_tokenizer().decode(ids) != texts[text]) throw std::runtime_error("does not return");
  });
}

TEST(Tokenizer, OutlivesItsMove) {
  Tokenizer first = Tokenizer::load(testdata() / "small");
  Encoder encoder(first);
  const Tokenizer second = std::move(first);
  std::vector<int32_t> ids;
  encoder.encode("The oars", ids);
  EXPECT_EQ(second.decode(ids), "The oars");
}

TEST(Tokenizer, SpecialTokensInTheTextStayTextUnlessAskedFor) {
  const int32_t end = small_tokenizer().end_of_text().value();
  EXPECT_EQ(end, small_tokenizer().vocab_size() - 1);
  const std::string text = "oars<|endoftext|> oars <|endoftext|><|endoftext|";
  for (const int32_t id : encode(text)) EXPECT_NE(id, end);
  EXPECT_EQ(small_tokenizer().decode(encode(text)), text);

  std::vector<int32_t> expected = encode("oars");
  expected.push_back(end);
  small_tokenizer().encode(" oars ", expected);
  expected.push_back(end);
  small_tokenizer().encode("<|endoftext|", expected);
  EXPECT_EQ(encode(text, {.parse_special_tokens = true}), expected);
  EXPECT_EQ(encode("<|endoftext|>", {.parse_special_tokens = true}), std::vector<int32_t>{end});
  EXPECT_EQ(small_tokenizer().decode(expected), text);
}

TEST(Tokenizer, TheLongestOfSpecialTokensAtAPlaceWins) {
  const std::vector<std::string> special = {"<a>", "<a><b>", "<a><b><c", "<a"};
  const Tokenizer tokenizer(make_vocabulary({}, special));
  const auto parse = [&](std::string_view text) {
    return tokenizer.encode(text, {.parse_special_tokens = true});
  };
  EXPECT_EQ(parse("<a><b><a><b><c<a<a>"), (std::vector<int32_t>{257, 258, 259, 256}));
}

TEST(Tokenizer, APieceThatIsATokenIsTakenWholeWhenMergesAreIgnored) {
  // "abc" is a token that the merges, which begin with "bc", never make of the piece "abcd".
  std::vector<int32_t> ids;
  const Vocabulary bytes = make_vocabulary({}, {});
  for (const char* byte : {"a", "b", "c", "d"}) ids.push_back(find_token(bytes, byte));
  const std::vector<Merge> merges = {{ids[1], ids[2]}, {ids[0], ids[1]}, {257, ids[2]}};
  Vocabulary vocabulary = make_vocabulary(merges, std::vector<std::string>{"<|x|>"});
  const Tokenizer merging(vocabulary);
  EXPECT_EQ(merging.encode("abc"), (std::vector<int32_t>{ids[0], 256}));
  vocabulary.ignore_merges = true;
  const Tokenizer whole(vocabulary);
  EXPECT_EQ(whole.encode("abc"), std::vector<int32_t>{258});
  EXPECT_EQ(whole.encode("abcd"), (std::vector<int32_t>{ids[0], 256, ids[3]}));
  Encoder encoder(whole);
  for (int round = 0; round < 2; ++round) {
    std::vector<int32_t> out;
    encoder.encode("abc", out);
    EXPECT_EQ(out, std::vector<int32_t>{258});
  }
}

TEST(Tokenizer, ATextNeverBecomesASpecialTokenWhereMergesAreIgnored) {
  Vocabulary vocabulary = make_vocabulary({}, std::vector<std::string>{"special"});
  vocabulary.ignore_merges = true;
  EXPECT_EQ(Tokenizer(std::move(vocabulary)).encode("special").size(), 7U);
}

TEST(Tokenizer, AddedTokensAreTakenFromAnyText) {
  const std::vector<std::string> special = {"<a>", "<tool>", "<tool>x", "<b>"};
  Vocabulary vocabulary = make_vocabulary({}, special);
  vocabulary.special = {256, 259};
  vocabulary.added = {257, 258};
  const Tokenizer tokenizer(std::move(vocabulary));
  const std::string text = "<tool>x<a><tool><b>";
  std::vector<int32_t> expected = {258};
  const auto spell = [&](std::string_view part) {
    for (const char byte : part) expected.push_back(*tokenizer.id_of({&byte, 1}));
  };
  spell("<a>");
  expected.push_back(257);
  spell("<b>");
  EXPECT_EQ(tokenizer.encode(text), expected);
  EXPECT_EQ(tokenizer.decode(expected), text);
  EXPECT_EQ(tokenizer.encode(text, {.parse_special_tokens = true}),
            (std::vector<int32_t>{258, 256, 257, 259}));
}

TEST(Tokenizer, TheEndOfADocumentIsChosenOrFollowsTheNames) {
  const auto end_of = [](const std::vector<std::string>& special, std::optional<int32_t> chosen) {
    Vocabulary vocabulary = make_vocabulary({}, special);
    vocabulary.end_of_document = chosen;
    return Tokenizer(std::move(vocabulary)).end_of_text();
  };
  EXPECT_EQ(end_of({"<|end_of_text|>", "<|endoftext|>"}, {}), 257);
  EXPECT_EQ(end_of({"<|eot|>", "<|end_of_text|>"}, {}), 257);
  EXPECT_EQ(end_of({"<|eot|>", "<|end_of_text|>"}, 256), 256);
  EXPECT_EQ(end_of({"<|eot|>"}, {}), std::nullopt);
}

TEST(Tokenizer, TextsAreCutAtLinesOnlyWhereThatChangesNoToken) {
  const auto cuts = [](std::string_view pattern, const std::string& special) {
    Vocabulary vocabulary = make_vocabulary({}, std::vector<std::string>{special});
    vocabulary.split_pattern = pattern;
    return Tokenizer(std::move(vocabulary)).cuts_at_lines();
  };
  EXPECT_TRUE(cuts(kGpt2Pattern, "<a>"));
  EXPECT_TRUE(cuts(kLlama3Pattern, "<a>\n"));
  EXPECT_FALSE(cuts(kLlama3Pattern, "<a\n>"));
  EXPECT_FALSE(cuts(R"([a\n]+)", "<a>"));
}

TEST(Tokenizer, TokensAreFoundByTheirBytes) {
  const Tokenizer& tokenizer = small_tokenizer();
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    ASSERT_EQ(tokenizer.id_of(tokenizer.token_bytes(id)), id);
  EXPECT_EQ(tokenizer.id_of("no such token"), std::nullopt);
  EXPECT_EQ(Tokenizer(make_vocabulary({}, {})).end_of_text(), std::nullopt);
  ASSERT_EQ(tokenizer.special_tokens().size(), 1U);
  EXPECT_EQ(tokenizer.token_bytes(tokenizer.special_tokens().front()), kEndOfText);
}

TEST(Tokenizer, AnIdOutsideTheVocabularyIsRefused) {
  for (const int32_t id : {-1, 400, INT32_MAX}) {
    const std::vector<int32_t> ids = {0, id};
    EXPECT_EQ(message_of([&] { (void)small_tokenizer().decode(ids); }),
              "decode: token id " + std::to_string(id) +
                  " is not in the vocabulary; ids are 0 to 399; use the tokenizer by which the "
                  "text was encoded");
  }
}

TEST(FindCut, NeverChangesTheTokens) {
  Random random(8);
  size_t cuts = 0;
  for (size_t round = 0; round < 3000; ++round) {
    const std::string text = random_text(random, 1 + below(random, 60));
    // The text is seen only up to some byte, as by a reader of blocks.
    const std::string_view seen = std::string_view(text).substr(0, below(random, text.size() + 1));
    const size_t limit = below(random, seen.size() + 2);
    const size_t cut = find_cut(seen, limit);
    if (cut == 0) continue;
    ++cuts;
    ASSERT_LE(cut, limit);
    ASSERT_LT(cut, text.size());
    std::vector<int32_t> ids = encode(text.substr(0, cut));
    small_tokenizer().encode(text.substr(cut), ids);
    ASSERT_EQ(ids, encode(text)) << text;
  }
  EXPECT_GT(cuts, 500U);
}

TEST(FindCut, TakesTheLastPlaceThereIs) {
  EXPECT_EQ(find_cut("ab\ncd\nef", 8), 6U);
  EXPECT_EQ(find_cut("ab\ncd\nef", 5), 3U);
  EXPECT_EQ(find_cut("ab\ncd\nef", 2), 0U);
  EXPECT_EQ(find_cut("ab\n\ncd", 6), 0U);
  EXPECT_EQ(find_cut("ab\n cd", 6), 0U);
  EXPECT_EQ(find_cut("ab \ncd", 6), 0U);
  EXPECT_EQ(find_cut("ab\n", 3), 0U);  // what comes next may be white space
  EXPECT_EQ(find_cut("\nab", 3), 0U);
  EXPECT_EQ(find_cut("\u4e09\n\u4e09", 7), 4U);
  EXPECT_EQ(find_cut("a\n\u3000a", 6), 0U);
  EXPECT_EQ(find_cut("\u3000\na", 5), 0U);
  EXPECT_EQ(find_cut("", 10), 0U);
}

}  // namespace
}  // namespace trireme::text
