#include "config/field.h"

#include <gtest/gtest.h>

#include "config/testing.h"

namespace trireme::config {
namespace {

using testing::contains;
using testing::failure_of;
using testing::Sample;

const Field& sample_field(std::string_view name) {
  const Field* field = Sample::group().find(name);
  EXPECT_NE(field, nullptr) << name;
  return *field;
}

std::string refusal_of(std::string_view name, const Words& words) {
  return failure_of([&] { (void)sample_field(name).from_words(words, {}); });
}

std::string typed_refusal_of(std::string_view name, const Value& value) {
  return failure_of([&] { (void)sample_field(name).from_typed(value, {"run.toml", 7}); });
}

TEST(Range, ContainsItsClosedBoundsOnly) {
  EXPECT_TRUE(at_least(1).contains(1));
  EXPECT_FALSE(at_least(1).contains(0.999));
  EXPECT_FALSE(above(0).contains(0));
  EXPECT_TRUE(between(0, 1).contains(1));
  EXPECT_FALSE(from_to_below(0, 1).contains(1));
  EXPECT_TRUE(Range{}.contains(-1e300));
}

TEST(Range, PrintsAsInMathematics) {
  EXPECT_EQ(at_least(1).text(), ">= 1");
  EXPECT_EQ(above(0).text(), "> 0");
  EXPECT_EQ(from_to_below(0, 1).text(), "in [0, 1)");
  EXPECT_EQ(between(0, 4294967295.0).text(), "in [0, 4294967295]");
  EXPECT_EQ(between(0.25, 0.5).text(), "in [0.25, 0.5]");
  EXPECT_EQ(Range{.high = 2}.text(), "<= 2");
  EXPECT_EQ(Range{}.text(), "");
}

TEST(Field, GetsAndSetsEveryTypeOfMember) {
  const Sample full = {.verbose = true,
                       .count = 7,
                       .rate = 0.25,
                       .title = "x",
                       .folder = "a/b",
                       .colour = testing::Colour::blue,
                       .files = {"f"},
                       .tags = {},
                       .limit = 9,
                       .share = 0.1,
                       .strict = false,
                       .border = testing::Colour::red,
                       .must = -4};
  Sample copy;
  for (const Field& field : Sample::group().fields) {
    EXPECT_NE(field.get(&full), field.get(&copy)) << field.name << " is told apart";
    field.set(&copy, field.get(&full));
  }
  EXPECT_EQ(copy, full);
  for (const Field& field : Sample::group().fields) field.set(&copy, field.initial);
  EXPECT_EQ(copy, Sample{});
}

TEST(Field, TakesItsDefaultFromTheInitialiser) {
  EXPECT_EQ(sample_field("count").initial, Value(int64_t{3}));
  EXPECT_EQ(sample_field("colour").initial, Value("green"));
  EXPECT_EQ(sample_field("limit").initial, Value());
  EXPECT_EQ(sample_field("rate").default_text(), "0.5");
  EXPECT_EQ(sample_field("verbose").default_text(), "off");
  EXPECT_EQ(sample_field("tags").default_text(), "a b");
  EXPECT_EQ(sample_field("folder").default_text(), "nowhere");
  EXPECT_EQ(sample_field("must").default_text(), "required");
}

TEST(Field, ReadsNumbersInAllUsualSpellings) {
  const auto rate = [](const std::string& word) {
    return std::get<double>(sample_field("rate").from_words({word}, {}));
  };
  EXPECT_EQ(rate("0.25"), 0.25);
  EXPECT_EQ(rate(".001"), 0.001);
  EXPECT_EQ(rate("0"), 0.0);
  EXPECT_EQ(rate("6e-5"), 6e-5);
  EXPECT_EQ(rate("6E-5"), 6e-5);
  EXPECT_EQ(rate("0.1"), 0.1);
  EXPECT_EQ(sample_field("count").from_words({"10"}, {}), Value(int64_t{10}));
  EXPECT_EQ(sample_field("must").from_words({"-9223372036854775808"}, {}),
            Value(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(sample_field("must").from_words({"9223372036854775807"}, {}),
            Value(std::numeric_limits<int64_t>::max()));
}

TEST(Field, RefusesMalformedNumbersWithWhereWhatRuleRemedy) {
  EXPECT_EQ(refusal_of("rate", {"1e3x"}),
            "2: command line: --rate '1e3x' is not a number; --rate takes a number in [0, 1); "
            "write a decimal number, as in 0.1, 12 or 6e-5");
  EXPECT_EQ(refusal_of("count", {"1e1"}),
            "2: command line: --count '1e1' is not a whole number in digits; --count takes a whole "
            "number in [1, 10] (items); write 10");
  for (const std::string word : {"", " 1", "1 ", "0x1", "1,5", "nan", "inf", "-inf", "--1", "1e"}) {
    EXPECT_TRUE(contains(refusal_of("rate", {word}), "is not a number")) << word;
  }
  for (const std::string word : {"", "1.5", "ten", "3x", " 3", "1_000", "nan"}) {
    EXPECT_TRUE(contains(refusal_of("count", {word}), "is not a whole number")) << word;
  }
}

TEST(Field, RefusesNumbersThatDoNotFit) {
  EXPECT_TRUE(contains(refusal_of("must", {"9223372036854775808"}), "does not fit in 64 bits"));
  EXPECT_TRUE(contains(refusal_of("rate", {"1e999"}), "does not fit in a double"));
}

TEST(Field, RefusesNumbersOutOfRangeAndNamesTheNearestAllowedOne) {
  EXPECT_EQ(refusal_of("count", {"0"}),
            "2: command line: --count is 0; --count takes a whole number in [1, 10] (items); use 1 "
            "or more");
  EXPECT_TRUE(contains(refusal_of("count", {"11"}), "use 10 or less"));
  EXPECT_TRUE(contains(refusal_of("rate", {"-1"}), "use 0 or more"));
  EXPECT_TRUE(contains(refusal_of("rate", {"1"}), "--rate is 1; --rate takes a number in [0, 1)"));
  EXPECT_TRUE(contains(refusal_of("share", {"0"}), "--share is 0"));
}

TEST(Field, RefusesUnknownWordsAndNamesTheNearest) {
  EXPECT_EQ(refusal_of("colour", {"gren"}),
            "2: command line: --colour is 'gren'; --colour takes one of red, green, blue; use "
            "green");
}

TEST(Field, RefusesMissingEmptyAndBrokenText) {
  EXPECT_EQ(refusal_of("rate", {}),
            "2: command line: --rate has no value; --rate takes a number in [0, 1); write it "
            "behind --rate");
  EXPECT_TRUE(contains(refusal_of("tags", {}), "has no value"));
  EXPECT_TRUE(contains(refusal_of("folder", {""}), "is empty"));
  EXPECT_TRUE(contains(refusal_of("tags", {"a", ""}), "has an empty item"));
  EXPECT_EQ(refusal_of("title", {""}), "");
  for (const std::string text : {"\xFF", "a\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                 "\xE0\x80\x80", "\xF0\x80\x80\x80", "\x80"}) {
    EXPECT_TRUE(contains(refusal_of("title", {text}), "not valid UTF-8"));
    EXPECT_TRUE(contains(refusal_of("tags", {text}), "not UTF-8"));
  }
  EXPECT_EQ(refusal_of("title", {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF"}), "");
}

TEST(Field, RefusesAValueForAFlag) {
  EXPECT_EQ(refusal_of("verbose", {"yes"}),
            "2: command line: --verbose was given 'yes'; --verbose takes no value (a flag); write "
            "--verbose to turn it on, --no-verbose to turn it off");
}

TEST(Field, TakesTypedValuesThatMeanTheSame) {
  const Source source = {"run.toml", 7};
  EXPECT_EQ(sample_field("rate").from_typed(int64_t{0}, source), Value(0.0));
  EXPECT_EQ(sample_field("tags").from_typed("one", source), Value(Words{"one"}));
  EXPECT_EQ(sample_field("tags").from_typed(0.25, source), Value(Words{"0.25"}));
  EXPECT_EQ(sample_field("strict").from_typed(false, source), Value(false));
}

TEST(Field, RefusesTypedValuesOfAnotherType) {
  EXPECT_EQ(typed_refusal_of("count", 5.0),
            "2: run.toml:7: count is 5, a real number; count takes a whole number in [1, 10] "
            "(items); change its type");
  EXPECT_TRUE(contains(typed_refusal_of("rate", "0.5"), "rate is '0.5', a string"));
  EXPECT_TRUE(contains(typed_refusal_of("title", int64_t{5}), "title is 5, a whole number"));
  EXPECT_TRUE(contains(typed_refusal_of("colour", Words{"red"}), "colour is [red], a list"));
  EXPECT_TRUE(contains(typed_refusal_of("tags", true), "tags is true, a truth value"));
  EXPECT_EQ(typed_refusal_of("verbose", int64_t{1}),
            "2: run.toml:7: verbose is 1, a whole number; verbose takes true or false; change its "
            "type");
  EXPECT_TRUE(contains(typed_refusal_of("rate", std::numeric_limits<double>::infinity()),
                       "use a finite number"));
}

TEST(TextOf, IsShortAndExact) {
  EXPECT_EQ(text_of(0.1), "0.1");
  EXPECT_EQ(text_of(1e-5), "1e-05");
  EXPECT_EQ(text_of(int64_t{-7}), "-7");
  EXPECT_EQ(text_of(true), "on");
  EXPECT_EQ(text_of(Words{"a", "b"}), "a b");
  EXPECT_EQ(text_of(Value()), "not set");
}

TEST(Normalised, TakesUnderscoresForDashes) {
  EXPECT_EQ(normalised("num_layers"), "num-layers");
  EXPECT_EQ(normalised("num-layers"), "num-layers");
}

}  // namespace
}  // namespace trireme::config
