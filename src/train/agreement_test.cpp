#include "train/agreement.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "comm/local/run.h"
#include "core/error.h"
#include "device/cpu/cpu_device.h"

namespace trireme::train {
namespace {

// What each rank hears when rank r says lines[r]; empty where all is well.
std::vector<std::string> heard(const std::vector<Subject>& said) {
  std::vector<std::string> messages(said.size());
  const auto body = [&](comm::Port& port) {
    device::CpuDevice device(1);
    const auto stream = device.make_stream();
    const auto rank = static_cast<size_t>(port.rank());
    try {
      require_same(port.world(), *stream, said[rank]);
    } catch (const Error& error) {
      messages[rank] = text_of(error.trouble());
    }
    port.finish(*stream);  // nothing is left under way by a refusal
  };
  comm::run_ranks({.ranks = static_cast<int>(said.size())}, body);
  return messages;
}

Subject options_of(const std::string& lines) {
  return {.name = "options", .lines = lines, .remedy = "start all alike"};
}

TEST(Agreement, IsSilentWhereAllSayTheSame) {
  for (const std::string& message : heard(std::vector(4, options_of("lr = 0.1\nseed = 7\n"))))
    EXPECT_EQ(message, "");
}

TEST(Agreement, NamesTheFirstLineThatDiffersItsValuesAndTheRanks) {
  std::vector<Subject> said(6, options_of("# Batch\nseed = 7\nlr = 0.1\nname = \"a = b\"\n"));
  said[3] = said[5] = options_of("# Batch\nseed = 7\nlr = 0.2\nname = \"x\"\n");
  for (const std::string& message : heard(said)) {
    EXPECT_EQ(message,
              "options: lr = 0.1 on ranks 0-2 and 4, lr = 0.2 on ranks 3 and 5; all ranks of a "
              "run have the same options; start all alike");
  }
}

TEST(Agreement, NamesWhatSomeHaveNotSet) {
  const std::vector<Subject> said = {
      options_of("seed = 7\n"), options_of("seed = 7\nload = \"x\"\n"), options_of("seed = 7\n")};
  for (const std::string& message : heard(said)) {
    EXPECT_NE(message.find("load not set on ranks 0 and 2, load = \"x\" on rank 1"),
              std::string::npos)
        << message;
  }
}

TEST(Agreement, OnTheBuildIsOnTheProgramsContent) {
  EXPECT_EQ(build_subject().lines, build_subject().lines);
  EXPECT_EQ(build_subject().lines.size(), std::string("program = 0123456789abcdef\n").size());
}

TEST(Agreement, OnOptionsIsOnAllAndOnTheSubcommand) {
  config::BatchOptions batch = {.micro_batch_size = 2, .train_iters = 3};
  const std::vector<config::GroupView> groups = {config::view(batch)};
  const Subject before = options_subject("train", groups);
  EXPECT_NE(heard({before, options_subject("verify", groups)})[0].find(
                "subcommand = train on rank 0, subcommand = verify on rank 1"),
            std::string::npos);
  batch.seed = 99;
  const auto messages = heard({before, options_subject("train", groups)});
  EXPECT_NE(messages[0].find("seed = 1234 on rank 0, seed = 99 on rank 1"), std::string::npos)
      << messages[0];
}

TEST(Agreement, OnATokenizerIsOnTheFilesThatAreReadOfIt) {
  std::string pattern = std::filesystem::temp_directory_path() / "trireme-agreement-XXXXXX";
  const Path folder = ::mkdtemp(pattern.data());
  const auto write = [&](const char* name, const char* text) {
    AtomicFile file(folder / name);
    file.write(text);
    file.commit();
  };
  write("vocab.json", "{}");
  write("merges.txt", "a b");
  config::TokenizerOptions tokenizer = {.tokenizer_model = folder};
  const std::vector<config::GroupView> groups = {config::view(tokenizer)};
  const Subject before = options_subject("train", groups);
  write("README", "says what it is");
  EXPECT_EQ(options_subject("train", groups).lines, before.lines) << "nobody reads it";
  write("merges.txt", "b a");
  const auto messages = heard({before, options_subject("train", groups)});
  EXPECT_NE(messages[0].find("content of tokenizer-model/merges.txt = "), std::string::npos)
      << messages[0];
  write("tokenizer.json", "{}");
  EXPECT_NE(options_subject("train", groups).lines.find("tokenizer-model/tokenizer.json = "),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

RunData mock_data(int64_t seed, int64_t iterations, int64_t length = 8) {
  TrainOptions options;
  options.model.seq_length = length;
  options.batch = {.micro_batch_size = 2, .train_iters = iterations, .seed = seed};
  options.data.mock_data = true;
  options.logging.eval_iters = 1;
  ThreadPool pool(1);
  return open_run_data(options, run_course(options, parallel::Topology()), 50, nullptr, pool);
}

TEST(Agreement, OnDataIsOnSizesAndContent) {
  const Subject subject = data_subject(mock_data(1, 10));
  EXPECT_EQ(subject.lines, data_subject(mock_data(1, 10)).lines);
  const auto content = heard({subject, data_subject(mock_data(2, 10))});
  EXPECT_NE(content[1].find("content of train samples = "), std::string::npos) << content[1];
  const auto sizes = heard({subject, data_subject(mock_data(1, 20))});
  EXPECT_NE(sizes[0].find("samples of train = 20 on rank 0, samples of train = 40 on rank 1"),
            std::string::npos)
      << sizes[0];
}

}  // namespace
}  // namespace trireme::train
