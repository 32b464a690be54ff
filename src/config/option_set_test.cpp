#include "config/option_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/run_file.h"
#include "config/testing.h"

namespace trireme::config {
namespace {

using testing::contains;
using testing::failure_of;
using testing::Sample;

Sample read(const Words& arguments) {
  Sample sample;
  OptionSet options("trireme test");
  options.add(sample);
  options.read(arguments);
  return sample;
}

// With the required option in front.
std::string refusal_of(Words arguments) {
  arguments.insert(arguments.begin(), {"--must", "1"});
  return failure_of([&] { (void)read(arguments); });
}

class ConfigFile : public ::testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(path_) << text; }
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ = std::filesystem::temp_directory_path() /
                            format("trireme_run_{}.toml", static_cast<int>(::getpid()));
};

TEST(CommandLine, SetsEveryKindOfOption) {
  const Sample sample = read({"--verbose", "--count",  "5",      "--rate",   "0.125", "--title",
                              "a title",   "--folder", "x/y",    "--colour", "blue",  "--tags",
                              "p",         "q",        "r",      "--limit",  "8",     "--no-strict",
                              "--border",  "red",      "--must", "-3",       "one",   "two"});
  const Sample expected = {.verbose = true,
                           .count = 5,
                           .rate = 0.125,
                           .title = "a title",
                           .folder = "x/y",
                           .colour = testing::Colour::blue,
                           .files = {"one", "two"},
                           .tags = {"p", "q", "r"},
                           .limit = 8,
                           .share = {},
                           .strict = false,
                           .border = testing::Colour::red,
                           .must = -3};
  EXPECT_EQ(sample, expected);
}

TEST(CommandLine, TakesUnderscoresAndEqualsSigns) {
  struct Two {
    int64_t big_number = 1;
    bool small_flag = true;
    std::string text = {};
    static const Group& group() {
      static const Group table = {
          "Two",
          "",
          {field(&Two::big_number, {.name = "big-number", .help = "number"}),
           field(&Two::small_flag, {.name = "small-flag", .help = "flag"}),
           field(&Two::text, {.name = "text", .help = "text"})}};
      return table;
    }
  } two;
  OptionSet options("trireme test");
  options.add(two);
  options.read(Words{"--big_number=7", "--no_small_flag", "--text=--a=b"});
  EXPECT_EQ(two.big_number, 7);
  EXPECT_FALSE(two.small_flag);
  EXPECT_EQ(two.text, "--a=b");
}

TEST(CommandLine, CollectsPositionalArgumentsFromEverywhere) {
  EXPECT_EQ(read({"a", "--must", "1", "b", "-", "--", "--c", "-d"}).files,
            (Words{"a", "b", "-", "--c", "-d"}));
  EXPECT_EQ(read({"--must", "1", "--tags", "x", "--", "a", "--must"}).files,
            (Words{"a", "--must"}));
}

TEST(CommandLine, NamesTheNearestOptionForAnUnknownOne) {
  EXPECT_EQ(refusal_of({"--cuont", "5"}),
            "2: command line: there is no option --cuont; the nearest is --count");
  EXPECT_EQ(refusal_of({"--no-verbos"}),
            "2: command line: there is no option --no-verbos; the nearest is --no-verbose");
  EXPECT_EQ(refusal_of({"--wxyzwxyz"}),
            "2: command line: there is no option --wxyzwxyz; --help lists all options");
  EXPECT_TRUE(contains(refusal_of({"--no-count"}), "there is no option --no-count"));
  EXPECT_EQ(refusal_of({"--no-verbose=1"}),
            "2: command line: --no-verbose was given '1'; it takes no value (a flag)");
}

TEST(CommandLine, RefusesAnOptionGivenTwice) {
  EXPECT_EQ(refusal_of({"--count", "5", "--count", "5"}),
            "2: command line: --count is given twice; each option is given at most once; remove "
            "one of them");
  EXPECT_TRUE(contains(refusal_of({"--verbose", "--no-verbose"}), "--verbose is given twice"));
  EXPECT_TRUE(contains(refusal_of({"--files", "a", "--", "b"}),
                       "arguments without dashes count as --files"));
}

TEST(CommandLine, RefusesAMissingValueEvenBeforeAnotherOption) {
  EXPECT_TRUE(contains(refusal_of({"--count"}), "--count has no value"));
  EXPECT_TRUE(contains(refusal_of({"--count", "--rate", "0.5"}), "--count has no value"));
  EXPECT_TRUE(contains(refusal_of({"--tags", "--rate", "0.5"}), "--tags has no value"));
}

TEST(CommandLine, RefusesArgumentsThatBelongToNothing) {
  struct One {
    int64_t count = 1;
    bool flag = false;
    static const Group& group() {
      static const Group table = {"One",
                                  "",
                                  {field(&One::count, {.name = "count", .help = "number"}),
                                   field(&One::flag, {.name = "flag", .help = "flag"})}};
      return table;
    }
  } one;
  const auto refusal = [&](const Words& arguments) {
    OptionSet options("trireme test");
    options.add(one);
    return failure_of([&] { options.read(arguments); });
  };
  EXPECT_EQ(refusal({"--count", "1", "2"}),
            "2: command line: '2' belongs to no option; --count takes one value; remove it, or "
            "quote a value with spaces");
  EXPECT_EQ(refusal({"--flag", "true"}),
            "2: command line: 'true' belongs to no option; --flag takes no value (a flag); remove "
            "it, or quote a value with spaces");
  EXPECT_EQ(refusal({"-count", "1"}),
            "2: command line: '-count' belongs to no option; options begin with two dashes; write "
            "--count");
  EXPECT_TRUE(contains(refusal({"x"}), "'x' belongs to no option"));
  EXPECT_TRUE(
      contains(refusal({"--count", "1", "x", "-", "y"}), "'x' '-' 'y' belong to no option"));
  EXPECT_TRUE(contains(refusal({""}), "'' belongs to no option"));
}

TEST(CommandLine, TellsAllThatIsWrongInTheOrderOfTheWords) {
  EXPECT_EQ(
      failure_of([&] {
        (void)read({"--cuont", "5", "--rate", "2", "--colour", "red", "--colour", "blue"});
      }),
      "2: trireme test: 4 things to change\n"
      "  command line: there is no option --cuont; the nearest is --count\n"
      "  command line: --rate is 2; --rate takes a number in [0, 1); use a number inside\n"
      "  command line: --colour is given twice; each option is given at most once; remove one "
      "of them\n"
      "  --must is missing; it has no default; give it on the command line or in a file for "
      "--config");
  EXPECT_EQ(refusal_of({"--cuont", "5", "--strct"}),
            "2: command line: 2 things to change\n"
            "  there is no option --cuont; the nearest is --count\n"
            "  there is no option --strct; the nearest is --strict");
}

// An option with other names, and one that only another subcommand has.
struct Length {
  int64_t seq_length = 1;
  bool dry = false;
  bool operator==(const Length&) const = default;
  static const Group& group() {
    static const Group table = {
        "Length",
        "how long",
        {field(&Length::seq_length, {.name = "seq-length",
                                     .aliases = {"length", "sequence"},
                                     .help = "how long a sequence is",
                                     .range = at_least(1)}),
         field(&Length::dry, {.name = "dry", .aliases = {"dry-run"}, .help = "only say it"})}};
    return table;
  }
};

Length length_of(const Words& arguments) {
  Length length;
  OptionSet options("trireme test");
  options.add(length);
  options.read(arguments);
  return length;
}

TEST(Aliases, SayTheSameAsTheName) {
  EXPECT_EQ(length_of({"--length", "7", "--dry-run"}), (Length{7, true}));
  EXPECT_EQ(length_of({"--sequence=7", "--no-dry-run"}), (Length{7, false}));
  Length length;
  OptionSet options("trireme test");
  options.add(length);
  options.read_saved("sequence = 9\ndry_run = true\n", "run.toml");
  EXPECT_EQ(length, (Length{9, true}));
  EXPECT_EQ(save_toml(options.views()), "run-format = 1\n\n# Length\nseq-length = 9\ndry = true\n");
}

TEST(Aliases, AreNotGivenBesideTheName) {
  EXPECT_EQ(failure_of([] {
              (void)length_of({"--seq-length", "1", "--length", "2"});
            }),
            "2: command line: --seq-length is given twice; it is called --length, --sequence too; "
            "remove one of them");
  Length length;
  OptionSet options("trireme test");
  options.add(length);
  EXPECT_EQ(
      failure_of([&] { options.read_saved("length = 1\nseq-length = 1\n", "run.toml"); }),
      "2: run.toml:2: seq-length is given twice; it stands in line 1 too; it is called length, "
      "sequence too; remove one of them");
}

TEST(Aliases, AreMeantByMistypedNamesToo) {
  EXPECT_EQ(failure_of([] {
              (void)length_of({"--sequense", "1"});
            }),
            "2: command line: there is no option --sequense; the nearest is --sequence");
}

TEST(AliasesDeathTest, AreUniqueAmongAllNamesOfASubcommand) {
  struct Other {
    int64_t x = 1;
    static const Group& group() {
      static const Group table = {
          "Other", "", {field(&Other::x, {.name = "x", .aliases = {"sequence"}, .help = "x"})}};
      return table;
    }
  } other;
  Length length;
  OptionSet options("trireme test");
  options.add(length);
  EXPECT_DEATH(options.add(other), "one name");
}

TEST(OptionSet, SaysWhichSubcommandTakesAnOption) {
  const auto refusal = [](const Words& arguments) {
    Sample sample;
    OptionSet options("trireme test");
    options.add(sample);
    options.require("must", false);
    options.ask([](std::string_view name) -> std::optional<Elsewhere> {
      const Field* field = Length::group().find(name);
      if (field == nullptr) return std::nullopt;
      return Elsewhere{field, {"trireme train", "trireme plan"}};
    });
    return failure_of([&] { options.read(arguments); });
  };
  EXPECT_EQ(refusal({"--seq_length", "5", "--limit", "4"}),
            "2: command line: --seq_length is no option of this subcommand; it belongs to trireme "
            "train, trireme plan; leave it out here");
  EXPECT_TRUE(contains(refusal({"--dry", "file"}), "--dry is no option of this subcommand"));
  EXPECT_FALSE(contains(refusal({"--dry", "file"}), "'file'"));
  EXPECT_TRUE(contains(refusal({"--dri"}), "there is no option --dri"));
}

TEST(OptionSet, NamesAllRequiredOptionsThatAreMissing) {
  Sample sample;
  OptionSet options("trireme test");
  options.add(sample);
  options.require("folder");
  EXPECT_EQ(failure_of([&] { options.read(Words{}); }),
            "2: trireme test: --folder, --must are missing; they have no default; give them on the "
            "command line or in a file for --config");
}

TEST(OptionSet, CanDoWithoutAnOptionThatTheTableRequires) {
  Sample sample;
  OptionSet options("trireme test");
  options.add(sample);
  options.require("must", false);
  options.read(Words{});
  EXPECT_EQ(sample, Sample{});
}

TEST(OptionSet, KnowsWhereEachValueWasSaid) {
  Sample sample;
  OptionSet options("trireme test");
  options.add(sample);
  options.read(Words{"--must", "1"});
  EXPECT_EQ(options.source_of("must")->text(), "command line");
  EXPECT_EQ(options.source_of("count"), std::nullopt);
}

TEST(OptionSet, AsksForHelpBeforeAnythingElse) {
  for (const Words& arguments :
       {Words{"--help"}, Words{"-h"}, Words{"--nonsense", "--help"}, Words{"--count", "-h"}}) {
    Sample sample;
    OptionSet options("trireme test");
    options.add(sample);
    options.read(arguments);
    EXPECT_TRUE(options.help_wanted());
  }
  EXPECT_EQ(read({"--must", "1", "--", "--help"}).files, Words{"--help"});
}

TEST_F(ConfigFile, GivesValuesAndFlagsWinOverIt) {
  write("count = 4\nrate = 0.75\nmust = 2\ntags = [\"x\"]\n");
  const Sample sample = read({"--rate", "0.25", "--config", path_, "--tags", "y", "z"});
  EXPECT_EQ(sample.count, 4);
  EXPECT_EQ(sample.rate, 0.25);
  EXPECT_EQ(sample.must, 2);
  EXPECT_EQ(sample.tags, (Words{"y", "z"}));
}

TEST_F(ConfigFile, IsCheckedWhereAFlagWinsToo) {
  write("must = 1\ncount = 99\n");
  EXPECT_EQ(failure_of([&] {
              (void)read({"--config", path_, "--count", "2"});
            }),
            format("2: {}:2: count is 99; count takes a whole number in [1, 10] (items); use 10 or "
                   "less",
                   path_));
}

TEST_F(ConfigFile, IsNamedInConflictsBesideTheCommandLine) {
  write("must = 1\n\nlimit = 2\n");
  EXPECT_EQ(failure_of([&] {
              (void)read({"--config", path_, "--count", "4"});
            }),
            format("2: command line and {}:3: count 4 is above limit 2; the limit holds; use less",
                   path_));
}

TEST_F(ConfigFile, WhenMissingIsARunErrorThatNamesIt) {
  const std::string failure = failure_of([&] { (void)read({"--config", path_}); });
  EXPECT_EQ(failure.substr(0, 3), "1: ");
  EXPECT_TRUE(contains(failure, path_));
}

TEST(OptionSet, BlamesTheSubcommandForConflictsBetweenDefaults) {
  struct Never {
    int64_t x = 1;
    static const Group& group() {
      static const Group table = {"Never", "", {field(&Never::x, {.name = "x", .help = "x"})}};
      return table;
    }
    [[nodiscard]] std::optional<Conflict> validate() const {
      return Conflict{.names = {"x"}, .what = "x is never right"};
    }
  } never;
  OptionSet options("trireme test");
  options.add(never);
  EXPECT_EQ(failure_of([&] { options.read(Words{}); }), "2: trireme test: x is never right");
}

TEST(Check, RefusesWhatAProgramFilledIn) {
  Sample sample;
  EXPECT_EQ(failure_of([&] { check(sample, "sample"); }), "");
  sample.limit = 1;
  EXPECT_EQ(failure_of([&] { check(sample, "sample"); }),
            "2: sample: count 3 is above limit 1; the limit holds; use less");
  sample.count = 11;
  EXPECT_TRUE(contains(failure_of([&] { check(sample, "sample"); }), "sample: count is 11"));
}

TEST(Differences, NameTheFieldAndBothValues) {
  const Sample left;
  Sample right;
  EXPECT_TRUE(differences(left, right).empty());
  right.rate = 0.1;
  right.limit = 4;
  const std::vector<Difference> expected = {{"rate", "0.5", "0.1"}, {"limit", "not set", "4"}};
  EXPECT_EQ(differences(left, right), expected);
}

}  // namespace
}  // namespace trireme::config
