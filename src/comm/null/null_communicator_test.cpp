#include "comm/null/null_communicator.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace trireme::comm {
namespace {

// A group of two as one of them sees it, whose other rank always has the same values.
class Twins final : public Communicator {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 2; }
  [[nodiscard]] Request start(device::Stream&, const Exchange& exchange) override {
    if (exchange.reduction == program::Reduction::sum) {
      auto* values = reinterpret_cast<float*>(exchange.buffer);
      for (int64_t i = 0; i < exchange.bytes / 4; ++i) values[i] *= 2;
    }
    return {1};
  }
  void progress() override {}
  void wait(Request, device::Stream&) override {}
  void withdraw() noexcept override {}
  [[nodiscard]] BytesSent bytes_sent() const override { return {}; }
};

using Values = std::array<float, 3>;

struct Group {
  device::NullDevice device{1};
  NullCommunicator communicator{device, std::make_unique<Twins>()};
  std::unique_ptr<device::Stream> stream = device.make_stream();
  device::Arena arena{device, sizeof(Values)};

  [[nodiscard]] float* buffer() const { return reinterpret_cast<float*>(arena.data()); }
  void write(const Values& values) {
    device.copy_in(*stream, arena.data(), std::as_bytes(std::span(values)));
  }
  void read(Values& values) {
    device.copy_out(*stream, std::as_writable_bytes(std::span(values)), arena.data());
  }
};

TEST(NullCommunicator, JoinsBehindTheStreamAndTheStreamBehindIt) {
  Group group;
  EXPECT_EQ(group.communicator.size(), 2);
  const Values values = {1, 2, 3};
  Values found = {};
  group.write(values);
  const Request request = group.communicator.start_all_reduce(*group.stream, group.buffer(), 3,
                                                              program::Reduction::sum);
  group.communicator.wait(request, *group.stream);
  group.read(found);
  group.device.synchronize(*group.stream);
  EXPECT_EQ(found, (Values{2, 4, 6}));
}

TEST(NullCommunicator, ShowsABufferThatIsUsedBeforeItsWait) {
  Group group;
  const Values values = {1, 2, 3};
  const Values others = {7, 7, 7};
  Values early = {};
  Values found = {};
  group.write(values);
  const Request request = group.communicator.start_all_reduce(*group.stream, group.buffer(), 3,
                                                              program::Reduction::sum);
  group.read(early);
  group.write(others);
  group.communicator.wait(request, *group.stream);
  group.read(found);
  group.device.synchronize(*group.stream);
  for (const float value : early) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(found, (Values{2, 4, 6})) << "what was written meanwhile is lost";
}

TEST(NullCommunicatorDeathTest, WaitsForEachRequestOnce) {
  Group group;
  const Request request = group.communicator.start_all_reduce(*group.stream, group.buffer(), 3,
                                                              program::Reduction::sum);
  group.communicator.wait(request, *group.stream);
  EXPECT_DEATH(group.communicator.wait(request, *group.stream), "waited for once");
}

}  // namespace
}  // namespace trireme::comm
