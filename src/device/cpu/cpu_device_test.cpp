#include "device/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "core/error.h"

namespace trireme::device {
namespace {

TEST(Arena, IsZeroFilledAlignedAndMovable) {
  CpuDevice device(1);
  Arena arena(device, 10000);
  ASSERT_NE(arena.data(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % 4096, 0U);
  for (int64_t i = 0; i < arena.bytes(); ++i) ASSERT_EQ(arena.data()[i], std::byte{0});
  Arena other = std::move(arena);
  EXPECT_EQ(other.bytes(), 10000);
  other = Arena();
  EXPECT_EQ(other.data(), nullptr);
}

TEST(Arena, OfNoBytesOwnsNothing) {
  CpuDevice device(1);
  EXPECT_EQ(Arena(device, 0).data(), nullptr);
}

TEST(CpuDevice, CopiesInAndOutAndClears) {
  CpuDevice device(2);
  const auto stream = device.make_stream();
  Arena arena(device, 64);
  const std::array<int32_t, 4> in = {1, 2, 3, 4};
  std::array<int32_t, 4> out = {};
  device.copy_in(*stream, arena.data(), std::as_bytes(std::span(in)));
  device.copy_out(*stream, std::as_writable_bytes(std::span(out)), arena.data());
  device.synchronize(*stream);
  EXPECT_EQ(in, out);
  device.fill_zero(*stream, arena.data(), 8);
  device.copy_out(*stream, std::as_writable_bytes(std::span(out)), arena.data());
  EXPECT_EQ(out, (std::array<int32_t, 4>{0, 0, 3, 4}));
}

TEST(CpuDevice, KnowsSomeMemoryAndRefusesTheImpossible) {
  CpuDevice device(1);
  EXPECT_GT(device.available_bytes(), 0);
  EXPECT_THROW(Arena(device, int64_t{1} << 60), Error);
}

}  // namespace
}  // namespace trireme::device
