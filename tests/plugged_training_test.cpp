// The whole trainer on a device from a shared library whose memory is its own and whose streams are
// lazy: what a GPU asks of engine and trainer, without one. Everything is the CPU's, bit for bit.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <map>

#include "core/file.h"
#include "generate/generator.h"
#include "plugin/plugin_device.h"
#include "test_run.h"
#include "train/inspector.h"

namespace trireme {
namespace {

struct NullMachine {
  explicit NullMachine(int threads = 1) : device(plugin, threads) {}

  [[nodiscard]] Machine machine() { return {device, device.kernels(), *group}; }

  plugin::Plugin plugin{NULL_PLUGIN};
  plugin::PluginDevice device;
  std::unique_ptr<comm::Communicator> group = device.make_communicator(0, 1);
};

class PluggedTraining : public testing::Test {
 protected:
  PluggedTraining() {
    std::string pattern = testing::TempDir() + "trireme-plugged-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~PluggedTraining() override { std::filesystem::remove_all(folder_); }

  // Every file below a folder, by its name from there.
  static std::map<std::string, std::string> contents(const Path& folder) {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file())
        found[std::filesystem::relative(entry.path(), folder).string()] = read_file(entry.path());
    }
    return found;
  }

  Path folder_;
};

TEST_F(PluggedTraining, HasTheBitsOfTheCpu) {
  for (const RunOptions& options :
       {RunOptions{}, RunOptions{.threads = 2, .microbatches = 4, .readers = 1},
        RunOptions{.microbatches = 3, .dropout = 0, .grows = true}}) {
    NullMachine null(options.threads);
    TestRun there(options, null.machine());
    TestRun here(options);
    EXPECT_EQ(there.steps(5), here.steps(5));
    const int64_t samples = 2 * options.micro_batch * options.microbatches;
    EXPECT_EQ(train::evaluate_loss(there.session, there.batches, 600, samples),
              train::evaluate_loss(here.session, here.batches, 600, samples));
    EXPECT_EQ(there.steps(2), here.steps(2));
    EXPECT_EQ(there.state(), here.state());
  }
}

TEST_F(PluggedTraining, SavesWhatTheCpuSavesAndEachLoadsTheOthers) {
  NullMachine null;
  TestRun there({}, null.machine());
  TestRun here({});
  there.steps(3);
  here.steps(3);
  train::save_checkpoint(there.world(), there.session, there.trainer.position(), kSeed, "",
                         folder_ / "there");
  train::save_checkpoint(here.world(), here.session, here.trainer.position(), kSeed, "",
                         folder_ / "here");
  EXPECT_EQ(contents(folder_ / "there" / "iter_0000003"),
            contents(folder_ / "here" / "iter_0000003"));

  const auto continued = [&](TestRun& run, const char* from) {
    auto reader = checkpoint::CheckpointReader::open(folder_ / from);
    run.trainer.resume(train::load_checkpoint(run.session, reader));
    return run.steps(3);
  };
  const auto losses = here.steps(3);
  NullMachine other;
  TestRun back({}, other.machine());
  EXPECT_EQ(continued(back, "here"), losses);
  EXPECT_EQ(back.state(), here.state());
  TestRun forth({});
  EXPECT_EQ(continued(forth, "there"), losses);
}

TEST_F(PluggedTraining, ShowsTheSameInside) {
  NullMachine null;
  TestRun there({}, null.machine());
  TestRun here({});
  for (TestRun* run : {&there, &here}) {
    train::Inspector inspector(
        run->session, run->world(),
        {.dump = folder_ / (run == &there ? "there" : "here"), .trace = folder_ / "trace.json"});
    inspector.start_iteration(1);
    run->steps(1);
    inspector.end_iteration();
  }
  const auto values = contents(folder_ / "here");
  EXPECT_GE(values.size(), 7U);  // five actions, weights, gradients
  EXPECT_EQ(contents(folder_ / "there"), values);
}

TEST_F(PluggedTraining, FindsTheFirstNumberThatIsNotFinite) {
  NullMachine null;
  TestRun there({}, null.machine());
  TestRun here({});
  std::vector<std::string> found;
  for (TestRun* run : {&there, &here}) {
    run->steps(1);
    const TensorId first{0};
    std::vector<float> values(static_cast<size_t>(run->session.slice_elements(first)));
    run->session.read_tensor(first, TensorState::parameter, values);
    values[17] = std::numeric_limits<float>::infinity();
    run->session.write_tensor(first, TensorState::parameter, values);
    EXPECT_TRUE(run->trainer.step().skipped);
    found.push_back(run->trainer.find_non_finite(run->world()));
  }
  EXPECT_NE(found[1].find("microbatch"), std::string::npos) << found[1];
  EXPECT_EQ(found[0], found[1]);
}

TEST_F(PluggedTraining, GeneratesTheSameText) {
  NullMachine null;
  device::CpuDevice cpu(1);
  comm::SoloCommunicator solo;
  std::vector<std::vector<int32_t>> answers;
  for (const bool plugged : {true, false}) {
    const ops::Backend backend =
        plugged ? ops::Backend{.device = &null.device, .kernels = &null.device.kernels()}
                : ops::Backend{.device = &cpu, .kernels = &ops::cpu_kernels()};
    engine::Session session(model::plan_run({.shape = {.layers = 2,
                                                       .hidden = 40,
                                                       .heads = 5,
                                                       .ffn = 160,
                                                       .length = kLength,
                                                       .positions = kLength,
                                                       .vocabulary = kWords},
                                             .train = false,
                                             .decode = {.capacity = kLength, .places = 2}}),
                            backend, plugged ? *null.group : solo);
    train::initialise_weights(session, kSeed, cpu.pool());
    generate::Generator generator(session, {.temperature = 1.5}, kWords, cpu.pool());
    // More answers than places.
    const std::vector<generate::Request> requests = {{.prompt = {3, 1, 4}, .count = 20},
                                                     {.prompt = {1}, .count = 9},
                                                     {.prompt = {5, 9}, .count = 7}};
    std::vector<int32_t>& tokens = answers.emplace_back();
    generator.run(requests, [&](size_t request, int32_t token) {
      tokens.push_back(static_cast<int32_t>(request));
      tokens.push_back(token);
      return true;
    });
  }
  EXPECT_EQ(answers[0].size(), 2U * (20 + 9 + 7));
  EXPECT_EQ(answers[0], answers[1]);
}

}  // namespace
}  // namespace trireme
