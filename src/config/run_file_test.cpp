#include "config/run_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "config/option_set.h"
#include "config/testing.h"

namespace trireme::config {
namespace {

using testing::contains;
using testing::failure_of;
using testing::Sample;

Sample parsed(const std::string& toml) {
  Sample sample;
  OptionSet options("trireme test");
  options.add(sample);
  options.require("must", false);
  options.read_saved(toml, "run.toml");
  return sample;
}

std::string refusal_of(const std::string& toml) {
  return failure_of([&] { (void)parsed(toml); });
}

std::string saved(const Sample& sample) {
  const std::vector<GroupView> views = {view(sample)};
  return save_toml(views);
}

TEST(RunFile, ReadsEveryKindWithDashesOrUnderscores) {
  const Sample sample = parsed(
      "# a comment\nverbose = true\ncount = 4\nrate = 5e-1\ntitle = 'x'\nfolder = \"a/b\"\n"
      "colour = \"red\"\nfiles = [\"f\", \"g\"]\ntags = [0.3, \"a\", 1, \"b\"]\nlimit = 0x0A\n"
      "share = 1\nstrict = false\n");
  EXPECT_TRUE(sample.verbose);
  EXPECT_EQ(sample.count, 4);
  EXPECT_EQ(sample.tags, (Words{"0.3", "a", "1", "b"}));
  EXPECT_EQ(sample.limit, 10);
  EXPECT_EQ(sample.share, 1.0);
  EXPECT_EQ(sample.strict, false);
  EXPECT_EQ(parsed("").count, 3);
}

TEST(RunFile, RefusesWhatIsNotToml) {
  const std::string refusal = refusal_of("count = 1\nrate = = 2\n");
  EXPECT_TRUE(contains(refusal, "2: run.toml:2: ")) << refusal;
  EXPECT_TRUE(contains(refusal, "run files are written in TOML")) << refusal;
  EXPECT_TRUE(contains(refusal_of("count = 1\ncount = 2\n"), "run.toml:2: "));
  for (const std::string toml :
       {"[=]", "[&", "[", "[a", "=", "a", "a =", "a.= 1", "\"", "{}", "\xFF = 1", "a = \xC3\xA9",
        "\xCC\xAA", "a = 1\xE2\x80\x80", "a = 1 \xC2\xA7", "a = [1,\xC2\xA7]"}) {
    EXPECT_TRUE(contains(refusal_of(toml), "run files are written in TOML")) << toml;
  }
}

TEST(RunFile, RefusesUnknownNamesAndNamesTheNearest) {
  EXPECT_EQ(refusal_of("\n\ncuont = 1\n"),
            "2: run.toml:3: there is no option cuont; the nearest is count");
  // "no-" is a spelling of the command line only.
  EXPECT_TRUE(contains(refusal_of("no-verbose = true\n"), "there is no option no-verbose"));
}

TEST(RunFile, RefusesTwoSpellingsOfOneOption) {
  struct Two {
    int64_t a_b = 1;
    static const Group& group() {
      static const Group table = {"Two", "", {field(&Two::a_b, {.name = "a-b", .help = "x"})}};
      return table;
    }
  } two;
  OptionSet options("trireme test");
  options.add(two);
  EXPECT_EQ(failure_of([&] { options.read_saved("a-b = 1\na_b = 1\n", "run.toml"); }),
            "2: run.toml:2: a-b is given twice; it stands in line 1 too; `-` and `_` are the same "
            "in names; remove one of them");
}

TEST(RunFile, RefusesTablesDatesNestedListsAndCommandLineOptions) {
  EXPECT_TRUE(contains(refusal_of("[model]\ncount = 1\n"), "run.toml:1: model is a table"));
  EXPECT_TRUE(contains(refusal_of("count = {a = 1}\n"), "count is a table"));
  EXPECT_TRUE(contains(refusal_of("count = 2020-01-01\n"), "count is a date or time"));
  EXPECT_TRUE(contains(refusal_of("tags = [[\"a\"]]\n"), "tags holds an item"));
  EXPECT_TRUE(contains(refusal_of("tags = [true]\n"), "tags holds an item"));
  EXPECT_TRUE(contains(refusal_of("count = [1, 2]\n"), "count is [1 2], a list"));
  EXPECT_EQ(refusal_of("config = \"other.toml\"\n"),
            "2: run.toml:1: config stands in a run file; it belongs to the command line only; "
            "remove it here and write --config");
}

TEST(RunFile, RefusesAnotherFormat) {
  EXPECT_EQ(refusal_of("run-format = 1\n"), "");
  EXPECT_EQ(refusal_of("run-format = 2\n"),
            "2: run.toml:1: run-format is 2; this trireme reads run-format 1; use the trireme that "
            "wrote the file");
}

TEST(RunFile, ReportsAllFaultsInTheOrderOfTheLines) {
  EXPECT_EQ(
      refusal_of("zzzzzzzzz = 1\ncount = 99\nverbose = 1979-05-27\nhelp = true\n"),
      "2: trireme test: 4 things to change\n"
      "  run.toml:1: there is no option zzzzzzzzz; --help lists all options\n"
      "  run.toml:2: count is 99; count takes a whole number in [1, 10] (items); use 10 or "
      "less\n"
      "  run.toml:3: verbose is a date or time; no option takes one; write text between "
      "quotes\n"
      "  run.toml:4: help stands in a run file; it belongs to the command line only; remove it "
      "here and write --help");
}

TEST(SaveToml, WritesEveryValueWithItsType) {
  Sample sample;
  sample.rate = 0;
  sample.title = "say \"hi\"\\\n\x01";
  sample.limit = 5;
  EXPECT_EQ(saved(sample),
            "run-format = 1\n\n# Sample\nverbose = false\ncount = 3\nrate = 0.0\n"
            "title = \"say \\\"hi\\\"\\\\\\u000A\\u0001\"\ncolour = \"green\"\nfiles = []\n"
            "tags = [\"a\", \"b\"]\nlimit = 5\nmust = 0\n");
}

TEST(SaveToml, LeavesOutWhatBelongsToTheCommandLine) {
  Sample sample;
  OptionSet options("trireme test");
  options.add(sample);
  EXPECT_FALSE(contains(save_toml(options.views()), "config"));
  EXPECT_FALSE(contains(save_toml(options.views()), "help"));
}

TEST(SaveToml, DamagedInAnyByteIsReadOrRefusedButNeverCrashes) {
  Sample sample;
  sample.title = "t\xC3\xA9xt";
  const std::string whole = saved(sample);
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (int k = 0; k <= i % 3; ++k)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 5 == 0) damaged.resize(random() % damaged.size());
    const std::string refusal = refusal_of(damaged);
    if (refusal.empty()) continue;
    ++refused;
    ASSERT_EQ(refusal.substr(0, 3), "2: ") << refusal;
    ASSERT_TRUE(contains(refusal, "run.toml")) << refusal;
  }
  EXPECT_GT(refused, 1000);
}

TEST(JsonText, HoldsEveryValueWithItsType) {
  Sample sample;
  sample.limit = 5;
  const std::vector<GroupView> views = {view(sample)};
  const auto json = nlohmann::json::parse(json_text(views));
  EXPECT_EQ(json["verbose"], false);
  EXPECT_EQ(json["count"], 3);
  EXPECT_EQ(json["rate"], 0.5);
  EXPECT_EQ(json["colour"], "green");
  EXPECT_EQ(json["tags"], (nlohmann::json{"a", "b"}));
  EXPECT_EQ(json["limit"], 5);
  EXPECT_TRUE(json["share"].is_null());
  EXPECT_EQ(json.size(), Sample::group().fields.size());
}

}  // namespace
}  // namespace trireme::config
