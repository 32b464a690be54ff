#include "text/trainer.h"

#include <algorithm>
#include <map>

#include "text/split.h"
#include "text/test_support.h"
#include "text/word_table.h"

namespace trireme::text {
namespace {

TextSource source_of(std::vector<std::string> texts) {
  return [texts = std::move(texts), next = size_t{0}](std::string& text) mutable {
    if (next == texts.size()) return false;
    text = texts[next++];
    return true;
  };
}

Tokenizer train_on(const std::vector<std::string>& texts, const TrainOptions& options,
                   int threads = 1) {
  ThreadPool pool(threads);
  return train(options, source_of(texts), pool);
}

/// The rule of trainer.h, word for word: everything is counted again for every merge.
Vocabulary trained_plainly(const std::vector<std::string>& texts, const TrainOptions& options) {
  const Splitter splitter(options.split_pattern);
  Pieces pieces(splitter);
  const Vocabulary bytes = make_vocabulary({}, {});
  std::vector<std::vector<int32_t>> words;
  for (const std::string& text : texts) {
    pieces.start(text);
    for (std::string_view piece; pieces.next(piece);) {
      for (size_t at = 0; at < piece.size(); ++at) {
        if (at % 256 == 0) words.emplace_back();
        words.back().push_back(find_token(bytes, piece.substr(at, 1)));
      }
    }
  }
  std::vector<Merge> merges;
  for (;;) {
    const Vocabulary now = make_vocabulary(merges, {});
    const auto full = static_cast<size_t>(options.vocab_size) - options.special_tokens.size();
    if (now.tokens.size() >= full) break;
    std::map<std::pair<int32_t, int32_t>, int64_t> counts;
    for (const std::vector<int32_t>& word : words) {
      for (size_t at = 0; at + 1 < word.size(); ++at) ++counts[{word[at], word[at + 1]}];
    }
    Merge best;
    int64_t best_count = options.min_frequency - 1;
    for (const auto& [pair, count] : counts) {
      const std::string spelled = now.tokens[static_cast<size_t>(pair.first)] +
                                  now.tokens[static_cast<size_t>(pair.second)];
      if (count <= best_count ||
          std::count(options.special_tokens.begin(), options.special_tokens.end(), spelled) != 0)
        continue;
      best = {pair.first, pair.second};
      best_count = count;
    }
    if (best_count < options.min_frequency) break;
    merges.push_back(best);
    const int32_t result = make_vocabulary(merges, {}).results.back();
    for (std::vector<int32_t>& word : words) {
      for (size_t at = 0; at + 1 < word.size(); ++at) {
        if (word[at] != best.left || word[at + 1] != best.right) continue;
        word[at] = result;
        word.erase(word.begin() + static_cast<ptrdiff_t>(at) + 1);
      }
    }
  }
  Vocabulary vocabulary = make_vocabulary(merges, options.special_tokens);
  vocabulary.split_pattern = options.split_pattern;
  return vocabulary;
}

TEST(Trainer, EqualsThePlainReference) {
  const std::array<std::string_view, 4> kPatterns = {kGpt2Pattern, kLlama3Pattern, kQwen2Pattern,
                                                     R"([a-s\n]+|.)"};
  Random random(9);
  for (size_t round = 0; round < 30; ++round) {
    std::vector<std::string> texts;
    for (size_t text = 0; text < 1 + round % 4; ++text)
      texts.push_back(random_text(random, 1 + below(random, 600)));
    const TrainOptions options = {.vocab_size = static_cast<int32_t>(257 + below(random, 60)),
                                  .min_frequency = static_cast<int64_t>(1 + round % 3),
                                  .split_pattern = std::string(kPatterns[round % 4])};
    SCOPED_TRACE(round);
    EXPECT_EQ(train_on(texts, options).vocabulary(), trained_plainly(texts, options));
  }
}

TEST(Trainer, EqualsThePlainReferenceOnRunsAndRepeatsOfFewLetters) {
  // Overlapping pairs above all.
  Random random(10);
  for (size_t round = 0; round < 24; ++round) {
    std::string text;
    for (size_t at = 0; at < 400; ++at) {
      const char letter = static_cast<char>('a' + below(random, 1 + round % 3));
      text += below(random, 12) == 0 ? std::string(" ") : std::string(1, letter);
    }
    const TrainOptions options = {.vocab_size = 400, .min_frequency = 1};
    SCOPED_TRACE(round);
    EXPECT_EQ(train_on({text}, options).vocabulary(), trained_plainly({text}, options));
  }
}

TEST(Trainer, DoesNotDependOnThreadsOrOnHowTextsAreCut) {
  Random random(11);
  std::string text;
  while (text.size() < (size_t{5} << 20)) {
    for (size_t word = 0; word < 8; ++word) {
      text += ' ';
      text.append(1 + below(random, 4), static_cast<char>('a' + below(random, 20)));
    }
    text += ".\nNext";
    text += random_text(random, 3);
    text += "?\nThen";
  }
  std::vector<std::string> cut;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t at = find_cut(rest, 100'000);
    cut.emplace_back(rest.substr(0, at == 0 ? rest.size() : at));
    rest.remove_prefix(cut.back().size());
  }
  ASSERT_GT(cut.size(), 20U);
  TrainOptions options = {.vocab_size = 700};
  const Tokenizer one = train_on({text}, options, 1);
  EXPECT_EQ(train_on({text}, options, 3).vocabulary(), one.vocabulary());
  EXPECT_EQ(train_on(cut, options, 2).vocabulary(), one.vocabulary());
  std::reverse(cut.begin(), cut.end());
  EXPECT_EQ(train_on(cut, options, 1).vocabulary(), one.vocabulary());
  options.split_pattern = kLlama3Pattern;
  EXPECT_EQ(train_on(cut, options, 2).vocabulary(), train_on({text}, options, 1).vocabulary());
  options.split_pattern = R"(\S+\n\S+|\s+|\S+)";  // pieces over line ends: never cut there
  EXPECT_EQ(train_on({text}, options, 2).vocabulary(), train_on({text}, options, 1).vocabulary());
}

TEST(Trainer, AmongEqualsTheSmallestIdsComeFirst) {
  const Tokenizer tokenizer =
      train_on({"zb zb", "za", "za ya", "ya"}, {.vocab_size = 259, .special_tokens = {}});
  EXPECT_EQ(tokenizer.token_bytes(256), "ya");
  EXPECT_EQ(tokenizer.token_bytes(257), "za");
  EXPECT_EQ(tokenizer.token_bytes(258), "zb");
}

TEST(Trainer, StopsWhereNoPairIsFrequentEnough) {
  const TrainOptions options = {.vocab_size = 1000, .min_frequency = 3, .special_tokens = {}};
  EXPECT_EQ(train_on({"oar oar oar ship ship"}, options).vocab_size(), 256 + 2);
}

TEST(Trainer, PutsSpecialTokensLastAndNeverSpellsThem) {
  std::string text;
  for (int round = 0; round < 50; ++round) text += "<|x|><|x|> ab ab";
  const std::vector<std::string> special = {"<|x|>", "ab", kEndOfText.data()};
  const Tokenizer tokenizer = train_on({text}, {.vocab_size = 300, .special_tokens = special});
  EXPECT_EQ(tokenizer.special_tokens().size(), 3U);
  EXPECT_EQ(tokenizer.id_of("ab"), tokenizer.vocab_size() - 2);
  EXPECT_EQ(tokenizer.end_of_text(), tokenizer.vocab_size() - 1);
  for (const int32_t id : tokenizer.encode(text)) EXPECT_LT(id, tokenizer.vocab_size() - 3);
}

TEST(Trainer, LearnsFromBytesThatAreNotValid) {
  const std::string pair = "\xFF\xFE";
  const Tokenizer tokenizer = train_on({pair + " " + pair}, {.vocab_size = 258});
  EXPECT_EQ(tokenizer.token_bytes(256), pair);
}

TEST(Trainer, ForgetsRareWordsWhenMemoryIsBounded) {
  std::string text;
  for (char first = 'a'; first <= 'z'; ++first) {
    for (char second = 'a'; second <= 'z'; ++second) text.append({' ', 'q', 'z', first, second});
  }
  for (int round = 0; round < 10; ++round) text += " oars oars ship";
  const TrainOptions options = {.vocab_size = 300, .max_words = 8};
  const Tokenizer tokenizer = train_on({text}, options);
  EXPECT_TRUE(tokenizer.id_of(" oars").has_value());
  EXPECT_TRUE(tokenizer.id_of(" ship").has_value());
  EXPECT_FALSE(tokenizer.id_of("qz").has_value());
  EXPECT_EQ(train_on({text}, options, 3).vocabulary(), tokenizer.vocabulary());
}

TEST(Trainer, TellsHowFarItIs) {
  ThreadPool pool(1);
  uint64_t counted = 0;
  uint64_t merged = 0;
  (void)train({.vocab_size = 259}, source_of({"oar oar", " ship ship"}), pool,
              [&](const TrainProgress& progress) {
                if (progress.phase == TrainProgress::Phase::counting) {
                  EXPECT_EQ(merged, 0U);
                  counted = progress.done;
                } else {
                  EXPECT_EQ(progress.done, ++merged);
                  EXPECT_EQ(progress.total, 2U);
                }
              });
  EXPECT_EQ(counted, 17U);
  EXPECT_EQ(merged, 2U);
}

TEST(Trainer, OptionsThatCannotBeHonouredAreRefused) {
  const auto message = [](const TrainOptions& options, const std::string& text = "oars") {
    return message_of([&] { (void)train_on({text}, options); });
  };
  EXPECT_NE(message({.vocab_size = 256}).find("256 bytes and 1 special tokens need 257"),
            std::string::npos);
  EXPECT_NE(message({.min_frequency = 0}).find("min frequency: 0"), std::string::npos);
  EXPECT_NE(message({.max_words = 1}).find("max words: 1"), std::string::npos);
  EXPECT_NE(message({.special_tokens = {"x"}}).find("special token \"x\""), std::string::npos);
  EXPECT_NE(message({}, "").find("corpus is empty"), std::string::npos);
  EXPECT_EQ(message({.vocab_size = 257}), "no error");
}

TEST(WordTable, CountsAndForgetsTheRarest) {
  WordTable table;
  std::map<std::string, int64_t> expected;
  Random random(12);
  for (int round = 0; round < 30000; ++round) {
    std::string word = "w";
    for (size_t n = below(random, 3000); n > 0; n /= 7) word += static_cast<char>(n % 256);
    table.add(word, 1 + round % 3);
    expected[word] += 1 + round % 3;
  }
  ASSERT_EQ(table.size(), expected.size());
  for (size_t index = 0; index < table.size(); ++index)
    ASSERT_EQ(table.count(index), expected.at(std::string(table.word(index))));

  const size_t before = table.size();
  table.keep_most_frequent(before);
  EXPECT_EQ(table.size(), before);
  table.keep_most_frequent(100);
  ASSERT_GT(table.size(), 0U);
  EXPECT_LE(table.size(), 100U);
  int64_t least = INT64_MAX;
  for (size_t index = 0; index < table.size(); ++index) {
    ASSERT_EQ(table.count(index), expected.at(std::string(table.word(index))));
    least = std::min(least, table.count(index));
    expected.erase(std::string(table.word(index)));
  }
  for (const auto& [word, count] : expected) ASSERT_LT(count, least);
  table.add("new", 1);
  table.add("new", 1);
  EXPECT_EQ(table.count(table.size() - 1), 2);
}

}  // namespace
}  // namespace trireme::text
