#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/error.h"
#include "device/null/null_device.h"
#include "ops/testing/case.h"
#include "ops/testing/compare.h"
#include "ops/testing/trial.h"

namespace trireme::ops {
namespace {

TEST(NullKernels, GiveTheBitsOfTheCpuInEveryCase) {
  device::CpuDevice cpu(2);
  device::NullDevice null(2);
  for (const testing::Case& c : testing::cases_for_tests()) {
    const testing::Outcome expected =
        testing::run(c, {.device = &cpu, .kernels = &cpu_kernels(), .profile = {.threads = 2}});
    const testing::Outcome found =
        testing::run(c, {.device = &null, .kernels = &null_kernels(), .profile = {.threads = 2}});
    const testing::Comparison comparison = testing::compare_bits(c, expected, found);
    EXPECT_TRUE(comparison.within) << comparison.text;
  }
}

TEST(NullKernels, KeepTheirArgumentsUntilTheyRun) {
  device::NullDevice null(1);
  const auto stream = null.make_stream();
  const device::Arena arena(null, 128);
  const std::array<float, 4> values = {1, 2, 3, 4};
  const auto bytes = std::as_bytes(std::span(values));
  null.copy_in(*stream, arena.data(), bytes);
  null.copy_in(*stream, arena.data() + 64, bytes);
  std::array<void*, 2> operands = {};
  operands[program::AddInto::kX] = arena.data();
  operands[program::AddInto::kY] = arena.data() + 64;
  program::OpSpec op = program::AddInto{.elements = 4};
  null_kernels()[op](*stream, op, {.operands = operands});
  operands = {};
  op = program::AddInto{.elements = 0};
  std::array<float, 4> sums = {};
  null.copy_out(*stream, std::as_writable_bytes(std::span(sums)), arena.data() + 64);
  null.synchronize(*stream);
  EXPECT_EQ(sums, (std::array<float, 4>{2, 4, 6, 8}));
}

TEST(NullKernels, RefuseOperandsThatAreNotWholeOnTheDevice) {
  device::NullDevice null(1);
  const auto stream = null.make_stream();
  const device::Arena arena(null, 128);
  const auto message = [&](void* x) {
    std::array<void*, 2> operands = {};
    operands[program::AddInto::kX] = x;
    operands[program::AddInto::kY] = arena.data();
    const program::OpSpec op = program::AddInto{.elements = 16};
    null_kernels()[op](*stream, op, {.operands = operands});
    try {
      null.synchronize(*stream);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(arena.data() + 64), "");
  EXPECT_NE(message(arena.data() + 68).find("x of add_into: 64 bytes"), std::string::npos);
  std::array<float, 16> host = {};
  EXPECT_NE(message(host.data()).find("x of add_into: 64 bytes"), std::string::npos);
}

}  // namespace
}  // namespace trireme::ops
