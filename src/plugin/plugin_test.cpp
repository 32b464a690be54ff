#include "plugin/plugin.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include "device/cpu/cpu_device.h"
#include "ops/testing/case.h"
#include "ops/testing/compare.h"
#include "ops/testing/trial.h"
#include "plugin/build_id.h"
#include "plugin/plugin_device.h"
#include "plugin/serve.h"

namespace trireme::plugin {
namespace {

template <class Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_parts(const std::string& message, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
}

class PluginTest : public testing::Test {
 protected:
  Plugin plugin_{NULL_PLUGIN};
  PluginDevice device_{plugin_, 2};
};

TEST_F(PluginTest, RunsEveryOpWithTheBitsOfTheCpu) {
  EXPECT_EQ(device_.name(), "null");
  device::CpuDevice cpu(2);
  for (const ops::testing::Case& c : ops::testing::cases_for_tests()) {
    const auto expected = ops::testing::run(
        c, {.device = &cpu, .kernels = &ops::cpu_kernels(), .profile = {.threads = 2}});
    const auto found = ops::testing::run(
        c, {.device = &device_, .kernels = &device_.kernels(), .profile = {.threads = 2}});
    const ops::testing::Comparison comparison = ops::testing::compare_bits(c, expected, found);
    EXPECT_TRUE(comparison.within) << comparison.text;
  }
}

TEST_F(PluginTest, HasAKernelForEveryKindThatTheCpuHasOneFor) {
  for (size_t kind = 0; kind < program::kOpKinds; ++kind) {
    EXPECT_EQ(device_.kernels().kernels[kind] == nullptr,
              ops::cpu_kernels().kernels[kind] == nullptr)
        << kind;
  }
}

TEST_F(PluginTest, KeepsItsStreamsLazyAndItsEventsInOrder) {
  const auto writer = device_.make_stream();
  const auto reader = device_.make_stream();
  const auto event = device_.make_event();
  const device::Arena arena(device_, sizeof(int));
  const int in = 5;
  int early = -1;
  int out = -1;
  device_.copy_in(*writer, arena.data(), std::as_bytes(std::span(&in, 1)));
  device_.record(*event, *writer);
  device_.copy_out(*reader, std::as_writable_bytes(std::span(&early, 1)), arena.data());
  device_.synchronize(*reader);
  EXPECT_EQ(early, 0) << "nobody has waited for the writer yet";
  device_.wait(*reader, *event);
  device_.copy_out(*reader, std::as_writable_bytes(std::span(&out, 1)), arena.data());
  device_.synchronize(*reader);
  EXPECT_EQ(out, 5);
  device_.fill_zero(*writer, arena.data(), sizeof(int));
  device_.record(*event, *writer);
  device_.copy_out(*writer, std::as_writable_bytes(std::span(&out, 1)), arena.data());
  device_.synchronize(*event);
  EXPECT_EQ(out, 5) << "the event stands in front of the copy";
  device_.synchronize(*writer);
  EXPECT_EQ(out, 0);
}

TEST_F(PluginTest, OrdersCollectivesWithStreams) {
  const auto group = device_.make_communicator(0, 1);
  EXPECT_EQ(group->rank(), 0);
  EXPECT_EQ(group->size(), 1);
  const auto stream = device_.make_stream();
  const device::Arena arena(device_, sizeof(float));
  const float in = 5;
  float early = 0;
  float out = 0;
  device_.copy_in(*stream, arena.data(), std::as_bytes(std::span(&in, 1)));
  const comm::Request request = group->start_all_reduce(
      *stream, reinterpret_cast<float*>(arena.data()), 1, program::Reduction::sum);
  group->progress();
  device_.copy_out(*stream, std::as_writable_bytes(std::span(&early, 1)), arena.data());
  group->wait(request, *stream);
  device_.copy_out(*stream, std::as_writable_bytes(std::span(&out, 1)), arena.data());
  device_.synchronize(*stream);
  EXPECT_NE(early, early) << "a buffer that is used before the wait is not a number";
  EXPECT_EQ(out, 5);
}

TEST_F(PluginTest, HandsFailuresOverWithTheNameOfTheOp) {
  const auto stream = device_.make_stream();
  const device::Arena arena(device_, 64);
  std::array<float, 4> host = {};
  std::array<void*, 2> operands = {};
  operands[program::AddInto::kX] = host.data();  // no memory of the device
  operands[program::AddInto::kY] = arena.data();
  const program::OpSpec op = program::AddInto{.elements = 4};
  device_.kernels()[op](*stream, op, {.operands = operands});
  expect_parts(message_of([&] { device_.synchronize(*stream); }),
               {"null device: ", "x of add_into: 16 bytes", "not memory of this device"});
  // The device goes on.
  operands[program::AddInto::kX] = arena.data() + 32;
  device_.kernels()[op](*stream, op, {.operands = operands});
  device_.synchronize(*stream);

  expect_parts(message_of([&] { device::Arena(device_, int64_t{1} << 60); }),
               {"cannot allocate", "use a smaller model"});
  try {
    const auto group = device_.make_communicator(1, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::usage);
    expect_parts(error.what(), {"rank 1 of a group of 2"});
  }
}

TEST_F(PluginTest, KnowsItsMemoryAndItsPeak) {
  EXPECT_GT(device_.available_bytes(), 1 << 20);
  const PluginDevice::Peak peak = device_.peak();
  EXPECT_GT(peak.flops, 1e8);
  EXPECT_EQ(peak.how, "the FMA rate of 2 threads measured now");
}

TEST(PluginTable, IsRefusedWhereVersionSizeOrBuildDiffer) {
  abi::Table table = {.version = abi::kVersion,
                      .bytes = sizeof(abi::Table),
                      .build_id = build_id(),
                      .name = "test"};
  EXPECT_FALSE(refusal(table, "lib/x.so"));
  const auto words = [&] { return text_of(refusal(table, "lib/x.so").value_or(Trouble{})); };

  table.build_id = "0.0.0-other";
  expect_parts(words(),
               {"lib/x.so: ", "build 0.0.0-other, the program of " + std::string(build_id()),
                "build both from the same sources"});
  // Of another size, the rest is not looked at.
  table.bytes -= 8;
  table.build_id = nullptr;
  expect_parts(words(), {"lib/x.so: ", "bytes, the program's has", "build both"});
  table.version += 1;
  table.bytes = 0;
  expect_parts(words(), {"lib/x.so: ", "version 2 of the plugin interface, the program has 1"});
}

TEST(Plugin, IsRefusedWhereItIsOfAnotherBuild) {
  expect_parts(message_of([] { Plugin plugin(STALE_PLUGIN); }),
               {STALE_PLUGIN, "it is of build 0.0.0-of-yesterday", "build both"});
}

TEST(Plugin, IsRefusedWhereItIsNoPluginAtAll) {
  expect_parts(message_of([] { Plugin plugin("/proc/self/status"); }),
               {"/proc/self/status: cannot be loaded: ", "--device cpu"});
  // A library of another purpose.
  expect_parts(message_of([] { Plugin plugin(NOT_A_PLUGIN); }),
               {NOT_A_PLUGIN, "is no device's library", "trireme_plugin"});
}

TEST(FindPlugin, LooksInTheFoldersOfTheVariableAndBesideTheProgram) {
  EXPECT_EQ(find_plugin("null"), Path(NULL_PLUGIN)) << "the test lies beside it";
  EXPECT_EQ(find_plugin(NULL_PLUGIN), Path(NULL_PLUGIN));

  std::string pattern = testing::TempDir() + "trireme-plugins-XXXXXX";
  const Path folder = ::mkdtemp(pattern.data());
  write_file(folder / "trireme_null.so", "");
  ::setenv("TRIREME_PLUGIN_PATH", ("/nowhere:" + folder.string()).c_str(), 1);
  EXPECT_EQ(find_plugin("null"), folder / "trireme_null.so");
  const std::string missing = message_of([] { static_cast<void>(find_plugin("abacus")); });
  ::unsetenv("TRIREME_PLUGIN_PATH");
  std::filesystem::remove_all(folder);
  expect_parts(missing, {"--device abacus", "/nowhere/trireme_abacus.so, " + folder.string(),
                         (Path(NULL_PLUGIN).parent_path() / "trireme_abacus.so").string(),
                         "TRIREME_PLUGIN_PATH", "--device cpu"});
  expect_parts(message_of([] { static_cast<void>(find_plugin("./not_here.so")); }),
               {"there is no ./not_here.so"});
}

// Offers whose device cannot be made: what the library's side does with exceptions.
std::unique_ptr<device::Device> throw_usage(int) {
  fail_usage({.where = "w", .what = "x", .rule = "r", .remedy = "m"});
}
std::unique_ptr<device::Device> throw_much(int) {
  fail({.what = std::string(5000, 'y')});
}
std::unique_ptr<device::Device> throw_foreign(int) {
  throw std::runtime_error("of a library");
}
std::unique_ptr<device::Device> throw_anything(int) {
  throw 7;  // NOLINT(misc-throw-by-value-catch-by-reference): what no code of ours does
}

TEST(Serve, LetsNoExceptionOut) {
  abi::Device* device = nullptr;
  abi::Failure failure = {};
  const auto open = [&](std::unique_ptr<device::Device> (*make)(int)) {
    return serve({.name = "test", .make_device = make})->open_device(1, &device, &failure);
  };
  EXPECT_EQ(open(throw_usage), abi::Status::usage_failure);
  EXPECT_STREQ(failure.where, "w");
  EXPECT_STREQ(failure.what, "x");
  EXPECT_STREQ(failure.rule, "r");
  EXPECT_STREQ(failure.remedy, "m");
  EXPECT_EQ(open(throw_much), abi::Status::run_failure);
  EXPECT_EQ(std::strlen(failure.what), sizeof(failure.what) - 1) << "cut, and ended by a zero";
  EXPECT_EQ(open(throw_foreign), abi::Status::run_failure);
  EXPECT_STREQ(failure.where, "test");
  EXPECT_STREQ(failure.what, "of a library");
  EXPECT_EQ(open(throw_anything), abi::Status::run_failure);
  EXPECT_STREQ(failure.what, "an exception of no known type");
  EXPECT_EQ(device, nullptr);
}

}  // namespace
}  // namespace trireme::plugin
