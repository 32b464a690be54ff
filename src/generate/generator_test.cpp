#include "generate/generator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "generate/test_model.h"

namespace trireme::generate {
namespace {

// The logits behind a prompt in one place, where rows of other places, or of none, are about it.
std::vector<float> logits_behind(const TestModel& model, const std::vector<int32_t>& prompt,
                                 int32_t place, bool by_prompt_program) {
  engine::Session& session = *model.session;
  const model::DecodeShape& shape = session.plan().decode_shape;
  const auto rows = static_cast<size_t>(by_prompt_program ? shape.prompt_rows[0] : shape.places);
  const int64_t at_once = by_prompt_program ? shape.prompt_rows[0] : 1;
  std::vector<float> logits(static_cast<size_t>(shape.places * kWords));
  const auto length = static_cast<int64_t>(prompt.size());
  for (int64_t first = 0; first < length;) {
    const bool last = first == length - 1;
    const bool is_prompt = by_prompt_program && !last;
    const int64_t count = is_prompt ? std::min(at_once, length - 1 - first) : 1;
    const size_t size = is_prompt ? rows : static_cast<size_t>(shape.places);
    std::vector<int32_t> tokens(size, 11);
    std::vector<int32_t> positions(size, 0);
    std::vector<int32_t> places(size, -1);
    if (!is_prompt) {
      // Every other place moves, too, the last row is this one's.
      for (size_t row = 0; row < size; ++row)
        places[row] = static_cast<int32_t>((static_cast<size_t>(place) + 1 + row) % size);
    }
    for (int64_t i = 0; i < count; ++i) {
      const size_t row = is_prompt ? static_cast<size_t>(i) : size - 1;
      tokens[row] = prompt[static_cast<size_t>(first + i)];
      positions[row] = static_cast<int32_t>(first + i);
      places[row] = place;
    }
    using program::BatchField;
    session.write_field<int32_t>(BatchField::tokens, MicrobatchId{0}, tokens);
    session.write_field<int32_t>(BatchField::positions, MicrobatchId{0}, positions);
    session.write_field<int32_t>(BatchField::places, MicrobatchId{0}, places);
    if (is_prompt) {
      session.read_prompt(0);
    } else {
      session.decode(logits);
    }
    first += count;
  }
  return {logits.end() - kWords, logits.end()};
}

TEST(DecodingPrograms, GiveTheSameLogitsToTheBitForAnyPlacesRowsAndThreads) {
  const auto prompt = prompt_of(33, 2);
  const auto expected = logits_behind(TestModel({.places = 1}), prompt, 0, false);
  EXPECT_NE(std::count(expected.begin(), expected.end(), expected[0]), kWords);
  for (const int64_t places : {1, 2, 7, 8, 20}) {
    for (const int64_t rows : {1, 6, 16, 100}) {
      TestModel model({.places = places, .prompt_rows = {rows}}, 1 + static_cast<int>(rows) % 3);
      const auto place = static_cast<int32_t>(places - 1);
      EXPECT_EQ(logits_behind(model, prompt, place, true), expected) << places << ", " << rows;
      EXPECT_EQ(logits_behind(model, prompt, place / 2, false), expected) << places;
    }
  }
}

TEST(Generator, GivesAnAnswerThatDoesNotDependOnWhatGrowsBesideIt) {
  const auto all = many_requests();
  TestModel one({.places = 1});
  const auto expected = one.answers(all);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(static_cast<int64_t>(expected[i].size()), all[i].count);
  for (const int64_t places : {2, 3, 8, 16}) {
    TestModel model({.places = places}, static_cast<int>(places) % 3 + 1);
    EXPECT_EQ(model.answers(all), expected) << places << " places";
    // Alone, and behind others in places that were used before.
    EXPECT_EQ(model.answers({all[4]}).front(), expected[4]);
  }
}

TEST(Generator, GivesAnAnswerThatDoesNotDependOnHowPromptsAreRead) {
  const auto all = many_requests();
  const auto expected = TestModel({.places = 3, .prompt_rows = {1}}).answers(all);
  EXPECT_EQ(TestModel({.places = 3, .prompt_rows = {5}}).answers(all), expected);
  EXPECT_EQ(TestModel({.places = 1, .prompt_rows = {2, 64}}).answers(all), expected);
  EXPECT_EQ(TestModel({.places = 3}).answers(all), expected);
}

TEST(Generator, ContinuesAContinuationAsIfInOneGo) {
  TestModel model({.places = 2});
  const Request request = {.prompt = {5, 6}, .count = 8};
  const auto whole = model.answers({request}).front();
  Request longer = {.prompt = request.prompt, .count = 4};
  longer.prompt.insert(longer.prompt.end(), whole.begin(), whole.begin() + 4);
  EXPECT_EQ(model.answers({longer}).front(), std::vector<int32_t>(whole.begin() + 4, whole.end()));
}

TEST(Generator, NumbersSamplesAndSeedsThem) {
  TestModel model({.places = 4});
  std::vector<Request> same(4, {.prompt = {5, 6, 7}, .count = 12});
  for (size_t i = 0; i < 4; ++i) same[i].sample = static_cast<int64_t>(i);
  const auto samples = model.answers(same);
  for (size_t i = 1; i < 4; ++i) EXPECT_NE(samples[i], samples[0]);
  EXPECT_EQ(model.answers(same), samples);
  EXPECT_NE(model.answers(same, {.seed = 9}), samples);
  same[3].sample = 1;
  EXPECT_EQ(model.answers(same)[3], samples[1]);
}

TEST(Generator, EndsAnAnswerThatIsToEndAndGivesItsPlaceToTheNext) {
  TestModel model({.places = 2});
  const std::vector<Request> five(5, {.prompt = {5}, .count = 30});
  Generator generator(*model.session, {.temperature = 0}, kWords, model.cpu.pool());
  std::vector<int> counts(5);
  std::vector<size_t> ended;
  generator.run(five, [&](size_t request, int32_t) {
    const bool goes_on = ++counts[request] < static_cast<int>(2 + 3 * request);
    if (!goes_on) ended.push_back(request);
    return goes_on;
  });
  EXPECT_EQ(counts, (std::vector<int>{2, 5, 8, 11, 14}));
  EXPECT_EQ(ended, (std::vector<size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(generator.work().answer_tokens, 2 + 5 + 8 + 11 + 14);
  EXPECT_EQ(generator.work().prompt_tokens, 0);
}

TEST(Generator, ChoosesWordsOnly) {
  TestModel model({.places = 4});
  std::vector<Request> twenty;
  for (int64_t i = 0; i < 20; ++i) twenty.push_back({.prompt = {5}, .count = 11, .sample = i});
  for (const auto& answer : model.answers(twenty, {.temperature = 5}, 7)) {
    for (const int32_t token : answer) EXPECT_LT(token, 7);
  }
}

TEST(Generator, RefusesPromptsThatCannotBe) {
  const auto refusal = [](const Request& request) -> std::string {
    try {
      require_room(request, kWords, kPositions, "prompts.txt line 7");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({.prompt = prompt_of(40, 1), .count = 8}), "");
  const auto expect = [&](const Request& request, const std::string& part) {
    EXPECT_NE(refusal(request).find(part), std::string::npos) << refusal(request);
  };
  expect({.prompt = {}, .count = 1}, "prompts.txt line 7: an empty prompt");
  expect({.prompt = prompt_of(40, 1), .count = 9}, "use --num-tokens 8 or less");
  expect({.prompt = prompt_of(48, 1), .count = 1}, "at most 47 tokens");
  expect({.prompt = {3, kWords}, .count = 1}, "token id 67");
  expect({.prompt = {-1}, .count = 1}, "token id -1");
}

}  // namespace
}  // namespace trireme::generate
