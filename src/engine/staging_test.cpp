#include "engine/staging.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace trireme::engine {
namespace {

// A device that copies as late as it may: when the host waits for the copy.
class LateDevice final : public device::Device {
 public:
  [[nodiscard]] std::string_view name() const override { return "late"; }
  [[nodiscard]] int64_t available_bytes() const override { return 1 << 20; }
  [[nodiscard]] std::unique_ptr<device::Stream> make_stream() override {
    return std::make_unique<device::Stream>();
  }
  [[nodiscard]] std::unique_ptr<device::Event> make_event() override {
    return std::make_unique<Mark>();
  }
  void record(device::Event& event, device::Stream&) override {
    static_cast<Mark&>(event).copies = queued_.size();
  }
  void wait(device::Stream&, const device::Event&) override {}
  void synchronize(device::Stream&) override { run(queued_.size()); }
  void synchronize(const device::Event& event) override {
    host_waits += 1;
    if (!forgets) run(static_cast<const Mark&>(event).copies);
  }
  void copy_in(device::Stream&, void* to, std::span<const std::byte> host) override {
    queued_.push_back({to, host});
  }
  void copy_out(device::Stream&, std::span<std::byte>, const void*) override {}
  void fill_zero(device::Stream&, void*, int64_t) override {}

  int host_waits = 0;
  bool forgets = false;  ///< to wait for events

 private:
  struct Mark final : device::Event {
    size_t copies = 0;
  };
  struct Copy {
    void* to;
    std::span<const std::byte> from;
  };
  void run(size_t end) {
    for (; done_ < end; ++done_)
      std::memcpy(queued_[done_].to, queued_[done_].from.data(), queued_[done_].from.size());
  }
  std::byte* allocate(int64_t) override { return nullptr; }
  void release(std::byte*, int64_t) noexcept override {}

  std::vector<Copy> queued_;
  size_t done_ = 0;
};

std::vector<int32_t> staged_count_to(int32_t end, LateDevice& device) {
  const auto stream = device.make_stream();
  Staging staging(device, 4 * Staging::kAlignment);
  std::vector<int32_t> arrived(static_cast<size_t>(end), -1);
  for (int32_t i = 0; i < end; ++i) {
    const int32_t value = i;
    staging.copy_in(*stream, &arrived[static_cast<size_t>(i)], std::as_bytes(std::span(&value, 1)));
  }
  device.synchronize(*stream);
  return arrived;
}

TEST(Staging, KeepsWhatWasHandedOverUntilTheDeviceHasIt) {
  std::vector<int32_t> counted(20);
  std::iota(counted.begin(), counted.end(), 0);
  LateDevice late;
  EXPECT_EQ(staged_count_to(20, late), counted);
  LateDevice forgetful;
  forgetful.forgets = true;
  EXPECT_NE(staged_count_to(20, forgetful), counted) << "the waits are what keeps it";
}

TEST(Staging, WaitsOnlyWhenAHalfIsFilledAgain) {
  LateDevice device;
  const auto stream = device.make_stream();
  Staging staging(device, 4 * Staging::kAlignment);
  const std::vector<int32_t> values(16, 3);  // one alignment
  std::vector<int32_t> arrived(16);
  for (int i = 0; i < 4; ++i)
    staging.copy_in(*stream, arrived.data(), std::as_bytes(std::span(values)));
  EXPECT_EQ(device.host_waits, 0);
  for (int i = 0; i < 4; ++i)
    staging.copy_in(*stream, arrived.data(), std::as_bytes(std::span(values)));
  EXPECT_EQ(arrived[0], 0) << "the second half was never used, so nothing had to be done for it";
  staging.copy_in(*stream, arrived.data(), std::as_bytes(std::span(values)));
  EXPECT_EQ(arrived[0], 3);
}

TEST(StagingDeathTest, HasNoRoomForMoreThanAHalf) {
  LateDevice device;
  const auto stream = device.make_stream();
  Staging staging(device, 64);
  const std::vector<std::byte> bytes(65);
  EXPECT_DEATH(staging.copy_in(*stream, nullptr, bytes), "fits one half");
}

}  // namespace
}  // namespace trireme::engine
