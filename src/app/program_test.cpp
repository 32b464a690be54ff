// The program as its users meet it: exit status, standard output, one message on standard error.

#include "app/program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <new>
#include <stdexcept>

#include "app/commands.h"
#include "core/error.h"

namespace trireme::app {
namespace {

struct Outcome {
  int status = -1;  // 128 and more: ended by a signal
  std::string text;
};

// Runs the built program in a shell; `wanted` says which stream is read.
Outcome shell(const std::string& arguments, const std::string& redirect) {
  const std::string line = "'" TRIREME_PROGRAM "' " + arguments + " " + redirect;
  std::FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return {};
  Outcome outcome;
  std::array<char, 4096> buffer = {};
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.text.append(buffer.data(), n);
  }
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return outcome;
}
Outcome output_of(const std::string& arguments) {
  return shell(arguments, "2>/dev/null");
}
Outcome errors_of(const std::string& arguments) {
  return shell(arguments, "2>&1 >/dev/null");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Program, ShowsTheSubcommandsWhenAskedOrWhenNothingIsAsked) {
  for (const std::string arguments : {"", "--help", "-h", "help"}) {
    const Outcome outcome = output_of(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments;
    for (const Command& command : all_commands()) {
      EXPECT_TRUE(contains(outcome.text, command.text.name)) << outcome.text;
      EXPECT_TRUE(contains(outcome.text, command.text.summary)) << outcome.text;
    }
  }
}

TEST(Program, ShowsTheSameHelpInBothWays) {
  for (const Command& command : all_commands()) {
    const Outcome first = output_of("help " + command.text.name);
    const Outcome second = output_of(command.text.name + " --help");
    EXPECT_EQ(first.status, 0);
    EXPECT_EQ(second.status, 0);
    EXPECT_EQ(first.text, second.text);
    EXPECT_TRUE(contains(first.text, "usage: trireme " + command.text.name));
    EXPECT_FALSE(command.text.examples.empty());
    EXPECT_TRUE(contains(first.text, "--config PATH"));
  }
}

TEST(Program, TellsItsVersion) {
  const Outcome outcome = output_of("--version");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.text.rfind("trireme ", 0), 0U);
  EXPECT_TRUE(contains(outcome.text, "."));
}

TEST(Program, RefusesUnknownSubcommandsAndOptionsWithStatus2AndOneLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"optoins",
       "trireme: command line: there is no subcommand 'optoins'; the nearest is 'options'\n"},
      {"help optoins",
       "trireme: command line: there is no subcommand 'optoins'; the nearest is 'options'\n"},
      {"zzzzzzzzzzzz",
       "trireme: command line: there is no subcommand 'zzzzzzzzzzzz'; trireme --help lists them\n"},
      {"--markdown",
       "trireme: command line: there is no option --markdown in front of a subcommand; options "
       "stand behind the subcommand; trireme --help lists the subcommands\n"},
      {"options --markdwn",
       "trireme: command line: there is no option --markdwn; the nearest is --markdown\n"},
      {"options x",
       "trireme: command line: 'x' belongs to no option; options begin with two dashes; --help "
       "lists all options\n"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = errors_of(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_EQ(outcome.text, message);
    EXPECT_EQ(output_of(arguments).text, "") << "nothing on standard output";
  }
}

TEST(Program, FailsWithStatus1WhenTheMachineDoes) {
  const Outcome missing = errors_of("options --config /nonexistent/run.toml");
  EXPECT_EQ(missing.status, 1);
  EXPECT_TRUE(contains(missing.text, "/nonexistent/run.toml")) << missing.text;
  const Outcome full = shell("options", "2>&1 >/dev/full");
  EXPECT_EQ(full.status, 1);
  EXPECT_TRUE(contains(full.text, "standard output: No space left on device")) << full.text;
}

TEST(Options, PrintsAPageInItsForms) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "Common: "},
      {"--markdown", "# Options\n"},
      {"--json", "[\n"},
      {"--page megatron", "preprocess_data.py"},
      {"--page megatron --markdown", "# Megatron-LM's options\n"},
      {"--page environment --json", "[\n"},
  };
  for (const auto& [arguments, start] : cases) {
    const Outcome outcome = output_of("options " + arguments);
    EXPECT_EQ(outcome.status, 0) << arguments;
    EXPECT_EQ(outcome.text.rfind(start, 0), 0U) << arguments;
  }
}

TEST(MegatronScript, GetsNotesOnStandardErrorOrOneMessage) {
  const std::string small =
      "train --num-layers 1 --hidden-size 8 --num-attention-heads 2 --seq-length 4 --vocab-size 64 "
      "--micro-batch-size 1 --train-iters 1 --lr 1e-3 --dry-run --json ";
  const Outcome works = errors_of(small + "--use-flash-attn --distributed-backend nccl");
  EXPECT_EQ(works.status, 0);
  EXPECT_EQ(works.text,
            "note: --use-flash-attn: the program has one implementation of each op\n"
            "note: --distributed-backend nccl: ranks exchange data by this program's own means "
            "(threads, MPI); no result depends on them\n");
  const Outcome refused =
      errors_of(small + "--use-flash-attn --swiglu --append-eod --rotary-base 1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(
      refused.text,
      "trireme: command line: 3 things to change\n"
      "  --swiglu is not supported; the activation of the MLP is GELU; leave it out\n"
      "  --append-eod is no option of this subcommand; it belongs to trireme preprocess; leave "
      "it out here\n"
      "  --rotary-base is not supported; positions are learned embeddings; leave it out\n");
}

// Subcommands made for the test, a family among them.
Command fake(const std::string& name, std::function<int(std::span<const std::string>)> run) {
  return {{.name = name, .summary = "does " + name, .about = "", .examples = ""}, std::move(run)};
}

class Family : public ::testing::Test {
 protected:
  int run(std::vector<std::string> arguments) {
    seen_.clear();
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int status = guarded_program(commands_, arguments);
    output_ = ::testing::internal::GetCapturedStdout();
    errors_ = ::testing::internal::GetCapturedStderr();
    return status;
  }
  Command noting(const std::string& name, int status) {
    return fake(name, [this, name, status](std::span<const std::string> arguments) {
      seen_ = name + ":";
      for (const std::string& argument : arguments) seen_ += " " + argument;
      return status;
    });
  }

  std::string seen_;
  std::string output_;
  std::string errors_;
  std::vector<Command> commands_ = {noting("tokenizer train", 0), noting("tokenizer encode", 0),
                                    noting("train", 7)};
};

TEST_F(Family, RunsTheSubcommandOfTwoWords) {
  EXPECT_EQ(run({"tokenizer", "train", "a", "--b"}), 0);
  EXPECT_EQ(seen_, "tokenizer train: a --b");
  EXPECT_EQ(run({"train", "tokenizer"}), 7);
  EXPECT_EQ(seen_, "train: tokenizer");
  EXPECT_EQ(run({"help", "tokenizer", "encode"}), 0);
  EXPECT_EQ(seen_, "tokenizer encode: --help");
}

TEST_F(Family, ListsItselfOnHelp) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"help", "tokenizer"}, {"tokenizer", "--help"}}) {
    EXPECT_EQ(run(arguments), 0);
    EXPECT_TRUE(contains(output_, "tokenizer encode"));
    EXPECT_FALSE(contains(output_, "does train\n"));
  }
}

TEST_F(Family, RefusesAnIncompleteOrUnknownNameWithTheNearest) {
  EXPECT_EQ(run({"tokenizer"}), 2);
  EXPECT_EQ(errors_,
            "trireme: command line: 'tokenizer' is a family of subcommands; trireme help tokenizer "
            "lists them\n");
  EXPECT_EQ(run({"tokenizer", "encod", "x"}), 2);
  EXPECT_EQ(errors_,
            "trireme: command line: there is no subcommand 'tokenizer encod'; the nearest is "
            "'tokenizer encode'\n");
  EXPECT_EQ(seen_, "");
}

TEST(GuardedProgram, TurnsEveryFailureIntoOneMessage) {
  const std::vector<Command> commands = {
      fake("usage", [](auto) -> int { fail_usage({.where = "here", .what = "wrong"}); }),
      fake("run", [](auto) -> int { fail({.where = "there", .what = "broken"}); }),
      fake("memory", [](auto) -> int { throw std::bad_alloc(); }),
      fake("foreign", [](auto) -> int { throw std::runtime_error("a library's words"); }),
      fake("odd", [](auto) -> int { throw 7; }),
  };
  const std::vector<std::tuple<std::string, int, std::string>> cases = {
      {"usage", 2, "trireme: here: wrong\n"},      {"run", 1, "trireme: there: broken\n"},
      {"memory", 1, "trireme: out of memory: "},   {"foreign", 1, "trireme: a library's words\n"},
      {"odd", 1, "trireme: an unknown failure\n"},
  };
  for (const auto& [name, status, message] : cases) {
    ::testing::internal::CaptureStderr();
    const std::vector<std::string> arguments = {name};
    EXPECT_EQ(guarded_program(commands, arguments), status);
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.rfind(message, 0), 0U) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
}

}  // namespace
}  // namespace trireme::app
