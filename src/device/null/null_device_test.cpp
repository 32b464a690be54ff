#include "device/null/null_device.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/error.h"

namespace trireme::device {
namespace {

// One number on the device, and the verbs on it.
struct Cell {
  explicit Cell(NullDevice& device) : device_(device), arena(device, sizeof(int)) {}
  void write(Stream& stream, const int& from) {
    device_.copy_in(stream, arena.data(), std::as_bytes(std::span(&from, 1)));
  }
  void read(Stream& stream, int& to) {
    device_.copy_out(stream, std::as_writable_bytes(std::span(&to, 1)), arena.data());
  }
  NullDevice& device_;
  Arena arena;
};

TEST(NullDevice, WorksOnlyWhenItIsWaitedFor) {
  NullDevice device(1);
  const auto stream = device.make_stream();
  Cell cell(device);
  const int in = 5;
  int out = 0;
  cell.write(*stream, in);
  cell.read(*stream, out);
  EXPECT_EQ(out, 0);
  device.synchronize(*stream);
  EXPECT_EQ(out, 5);
}

TEST(NullDevice, ShowsAHostBufferThatIsOverwrittenTooEarly) {
  NullDevice device(1);
  const auto stream = device.make_stream();
  Cell cell(device);
  int in = 5;
  int out = 0;
  cell.write(*stream, in);
  in = 6;  // the copy has not been waited for
  cell.read(*stream, out);
  device.synchronize(*stream);
  EXPECT_EQ(out, 6);
}

TEST(NullDevice, OrdersStreamsByEventsAndByNothingElse) {
  for (const bool waits : {true, false}) {
    NullDevice device(1);
    const auto writer = device.make_stream();
    const auto reader = device.make_stream();
    const auto event = device.make_event();
    Cell cell(device);
    const int in = 5;
    int out = -1;
    cell.write(*writer, in);
    device.record(*event, *writer);
    if (waits) device.wait(*reader, *event);
    cell.read(*reader, out);
    device.synchronize(*reader);
    EXPECT_EQ(out, waits ? 5 : 0);
  }
}

TEST(NullDevice, WaitsForAnEventAsItWasRecordedThen) {
  NullDevice device(1);
  const auto stream = device.make_stream();
  const auto event = device.make_event();
  device.synchronize(*event);  // never recorded: it has happened
  Cell cell(device);
  const int first = 1;
  const int second = 2;
  int seen = 0;
  int later = 0;
  cell.write(*stream, first);
  cell.read(*stream, seen);
  device.record(*event, *stream);
  cell.write(*stream, second);
  cell.read(*stream, later);
  device.synchronize(*event);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(later, 0) << "what is queued behind the event was not waited for";

  // A stream waits for the event as it was when the wait was queued.
  const auto other = device.make_stream();
  device.wait(*other, *event);
  device.record(*event, *stream);
  device.synchronize(*other);
  EXPECT_EQ(later, 0);
  device.synchronize(*event);
  EXPECT_EQ(later, 2);
}

TEST(NullDevice, RefusesMemoryThatIsNotItsOwn) {
  NullDevice device(1);
  const auto stream = device.make_stream();
  Arena arena(device, 64);
  std::vector<std::byte> host(65);
  const auto refused = [&](void* memory, std::span<const std::byte> bytes) {
    device.copy_in(*stream, memory, bytes);
    EXPECT_THROW(device.synchronize(*stream), Error);
  };
  refused(host.data(), std::span(host).first(8));
  refused(nullptr, std::span(host).first(8));
  refused(arena.data() - 1, std::span(host).first(8));
  refused(arena.data(), host);
  refused(arena.data() + 60, std::span(host).first(5));
  std::byte* const gone = Arena(device, 64).data();
  refused(gone, std::span(host).first(8));
  device.copy_in(*stream, arena.data() + 56, std::span(host).first(8));
  device.synchronize(*stream);
}

TEST(NullDevice, EndsAStreamAtAFailure) {
  NullDevice device(1);
  const auto stream = device.make_stream();
  Arena arena(device, 64);
  int out = 7;
  device.fill_zero(*stream, nullptr, 8);
  device.copy_out(*stream, std::as_writable_bytes(std::span(&out, 1)), arena.data());
  EXPECT_THROW(device.synchronize(*stream), Error);
  device.synchronize(*stream);
  EXPECT_EQ(out, 7) << "what stood behind the failure is not done";
  device.copy_out(*stream, std::as_writable_bytes(std::span(&out, 1)), arena.data());
  device.synchronize(*stream);
  EXPECT_EQ(out, 0);
}

TEST(NullDeviceDeathTest, HasAddressesThatTheHostCannotFollow) {
  NullDevice device(1);
  const Arena arena(device, 64);
  EXPECT_DEATH(
      {
        volatile const std::byte* const at = arena.data();
        const std::byte byte = *at;
        static_cast<void>(byte);
      },
      "");
}

}  // namespace
}  // namespace trireme::device
