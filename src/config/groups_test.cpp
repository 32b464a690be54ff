// Properties that hold for every group of options.

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "config/command_line.h"
#include "config/groups/all.h"
#include "config/groups/batch.h"
#include "config/groups/checkpoint.h"
#include "config/groups/common.h"
#include "config/groups/communication.h"
#include "config/groups/data.h"
#include "config/groups/debug.h"
#include "config/groups/engine.h"
#include "config/groups/evaluate.h"
#include "config/groups/generate.h"
#include "config/groups/logging.h"
#include "config/groups/model.h"
#include "config/groups/optimizer.h"
#include "config/groups/parallel.h"
#include "config/groups/pipeline.h"
#include "config/groups/preprocess.h"
#include "config/groups/tokenizer.h"
#include "config/groups/tokenizer_code.h"
#include "config/groups/tokenizer_encode.h"
#include "config/groups/tokenizer_train.h"
#include "config/option_set.h"
#include "config/run_file.h"
#include "config/testing.h"

namespace trireme::config {
namespace {

using testing::contains;
using testing::failure_of;

template <class T>
class EveryGroup : public ::testing::Test {};
using Groups =
    ::testing::Types<CommonOptions, ModelOptions, BatchOptions, OptimizerOptions, ParallelOptions,
                     PipelineOptions, CommunicationOptions, EngineOptions, DataOptions,
                     TokenizerOptions, CheckpointOptions, LoggingOptions, DebugOptions,
                     EvaluateOptions, GenerateOptions, PreprocessOptions, TokenizerTrainOptions,
                     TokenizerCodeOptions, TokenizerEncodeOptions, testing::Sample>;
TYPED_TEST_SUITE(EveryGroup, Groups);

// Text with everything that a file format could trip over.
std::string random_text(std::mt19937_64& random) {
  static const Words kPieces = {"a",
                                "Z",
                                "0",
                                " ",
                                "\"",
                                "'",
                                "\\",
                                "\n",
                                "\t",
                                "#",
                                "=",
                                "[",
                                "\xC3\xA9",
                                "\xE2\x82\xAC",
                                "\xF0\x9F\x98\x80",
                                "\r",
                                "\x7F",
                                "\x01",
                                "\"\"\"",
                                "-"};
  std::string text = "x";
  for (uint64_t n = random() % 8; n > 0; --n) text += kPieces[random() % kPieces.size()];
  return text;
}

Value random_value(const Field& field, std::mt19937_64& random) {
  if (field.optional && random() % 3 == 0) return {};
  const double low = field.range.low.value_or(-1e6);
  const double high = field.range.high.value_or(low + 1e9);
  switch (field.kind) {
    case Kind::flag:
      return random() % 2 == 0;
    case Kind::integer:
      return static_cast<int64_t>(low) +
             static_cast<int64_t>(random() % (static_cast<uint64_t>(high - low) + 1));
    case Kind::real: {
      std::uniform_real_distribution<double> between_bounds(std::nextafter(low, high), high);
      return between_bounds(random);
    }
    case Kind::word:
      return field.words[random() % field.words.size()];
    case Kind::list: {
      Words words;
      for (uint64_t n = random() % 4; n > 0; --n) words.push_back(random_text(random));
      return words;
    }
    case Kind::text:
    case Kind::path:
      return random_text(random);
  }
  return {};
}

TYPED_TEST(EveryGroup, HasFieldsWithNameHelpAndAllowedDefault) {
  for (const Field& field : TypeParam::group().fields) {
    EXPECT_EQ(field.name, normalised(field.name));
    EXPECT_FALSE(field.help.empty()) << field.name;
    EXPECT_NE(field.help.back(), '.') << field.name;
    EXPECT_FALSE(field.default_text().empty()) << field.name << " says what holds when not set";
    if (field.required || std::holds_alternative<std::monostate>(field.initial)) {
      continue;
    }
    EXPECT_EQ(failure_of([&] { (void)field.from_typed(field.initial, {"defaults", 0}); }), "");
  }
}

TYPED_TEST(EveryGroup, SavedAndReadIsEqual) {
  std::mt19937_64 random(1234);
  Names known;
  for (const Field& field : TypeParam::group().fields) known.add(field);
  for (int round = 0; round < 200; ++round) {
    TypeParam original;
    for (const Field& field : TypeParam::group().fields) {
      if (field.saved) field.set(&original, random_value(field, random));
    }
    const std::vector<GroupView> views = {view(original)};
    const std::string toml = save_toml(views);
    TypeParam copy;
    // The saved file leaves out what is not set: start from a struct where that shows.
    for (const Field& field : TypeParam::group().fields) {
      if (field.optional) field.set(&copy, {});
    }
    Reading reading;
    read_run_file(toml, "saved", known, reading);
    ASSERT_TRUE(reading.troubles.empty()) << toml;
    for (const auto& [field, value, source] : reading.said) field->set(&copy, *value);
    ASSERT_EQ(copy, original) << toml;
    ASSERT_TRUE(differences(copy, original).empty());
  }
}

TYPED_TEST(EveryGroup, FlagsOnTheCommandLineSayTheSameAsTheFile) {
  std::mt19937_64 random(99);
  for (int round = 0; round < 50; ++round) {
    TypeParam original;
    Words arguments;
    for (const Field& field : TypeParam::group().fields) {
      const Value value = random_value(field, random);
      const auto* list = std::get_if<Words>(&value);
      const bool empty =
          std::holds_alternative<std::monostate>(value) || (list != nullptr && list->empty());
      if (!field.saved || empty) continue;
      field.set(&original, value);
      if (list != nullptr) {
        arguments.push_back("--" + field.name);
        arguments.insert(arguments.end(), list->begin(), list->end());
      } else if (const auto* flag = std::get_if<bool>(&value)) {
        arguments.push_back((*flag ? "--" : "--no-") + field.name);
      } else {
        arguments.push_back("--" + field.name);
        arguments.push_back(text_of(value));
      }
    }
    TypeParam copy;
    Names known;
    for (const Field& field : TypeParam::group().fields) known.add(field);
    Reading reading;
    read_command_line(arguments, known, nullptr, reading);
    ASSERT_TRUE(reading.troubles.empty());
    for (const auto& [field, value, source] : reading.said) field->set(&copy, *value);
    ASSERT_EQ(copy, original);
  }
}

TEST(AllGroups, AreThoseTestedHere) {
  const std::set<const Group*> tested = {
      &CommonOptions::group(),         &ModelOptions::group(),
      &BatchOptions::group(),          &OptimizerOptions::group(),
      &ParallelOptions::group(),       &PipelineOptions::group(),
      &CommunicationOptions::group(),  &EngineOptions::group(),
      &DataOptions::group(),           &TokenizerOptions::group(),
      &CheckpointOptions::group(),     &LoggingOptions::group(),
      &DebugOptions::group(),          &EvaluateOptions::group(),
      &GenerateOptions::group(),       &PreprocessOptions::group(),
      &TokenizerTrainOptions::group(), &TokenizerCodeOptions::group(),
      &TokenizerEncodeOptions::group()};
  const auto all = all_groups();
  EXPECT_EQ(tested, std::set<const Group*>(all.begin(), all.end()));
  EXPECT_EQ(all.size(), tested.size());
}

}  // namespace
}  // namespace trireme::config
