// Collectives of a program on a device whose streams are lazy and whose communicator has a stream
// of its own: the executor orders them, and the host waits for nothing in between.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "comm/local/solo.h"
#include "comm/null/null_communicator.h"
#include "device/null/null_device.h"
#include "engine/executor.h"

namespace trireme::engine {
namespace {

constexpr int64_t kElements = 16;
using Values = std::array<float, kElements>;

// The values of a small program lie one behind the other among the temporaries.
enum Place { kX, kY, kZ, kPlaces };

struct OnNull {
  OnNull() {
    plan[model::ArenaKind::temporaries] = kPlaces * kElements * 4;
    memory.emplace(device, plan);
    executor.emplace(ops::Backend{.device = &device, .kernels = &ops::null_kernels()}, *memory,
                     Groups(group));
  }

  // Queues an op over places.
  void add(const program::OpSpec& spec, const std::vector<Place>& places) {
    program::Op& op = *ops.emplace_back(std::make_unique<program::Op>());
    op.spec = spec;
    LoweredOp& lowered = list.emplace_back();
    lowered.op = &op;
    lowered.kernel = ops::null_kernels()[spec];
    for (const Place place : places) {
      lowered.operands.push_back(address(place));
      lowered.present.push_back(true);
    }
  }

  static model::Address address(Place place) {
    return {.arena = model::ArenaKind::temporaries, .offset = place * kElements * 4};
  }
  [[nodiscard]] std::byte* at(Place place) const { return memory->at(address(place)); }

  // x = y = 1, z = 0; runs the list; z.
  Values run() {
    Values ones;
    ones.fill(1);
    Values z = {};
    for (const Place place : {kX, kY})
      device.copy_in(executor->stream(), at(place), std::as_bytes(std::span(ones)));
    executor->run(list, {});
    device.copy_out(executor->stream(), std::as_writable_bytes(std::span(z)), at(kZ));
    executor->synchronize();
    return z;
  }

  device::NullDevice device{1};
  comm::NullCommunicator group{device, std::make_unique<comm::SoloCommunicator>()};
  model::MemoryPlan plan;
  std::optional<RankMemory> memory;
  std::optional<Executor> executor;
  std::vector<std::unique_ptr<program::Op>> ops;
  std::vector<LoweredOp> list;
};

const program::AddInto kAdd = {.elements = kElements};
const program::AllReduceStart kStart = {.elements = kElements};
const program::AllReduceWait kWait = {.elements = kElements};

TEST(Executor, OrdersACollectiveWithTheOpsAroundIt) {
  OnNull here;
  here.add(kAdd, {kX, kY});
  here.add(kStart, {kY});
  here.add(kAdd, {kX, kZ});  // beside it
  here.add(kWait, {kY});
  here.add(kAdd, {kY, kZ});
  for (const float z : here.run()) EXPECT_EQ(z, 3);
}

TEST(Executor, DoesNotWaitForACollectiveOnItsOwn) {
  // What a program that forgets the wait gets: no numbers, every time.
  OnNull here;
  here.add(kAdd, {kX, kY});
  here.add(kStart, {kY});
  here.add(kAdd, {kY, kZ});
  for (const float z : here.run()) EXPECT_TRUE(std::isnan(z));
}

TEST(Executor, EndsItsWorkBeforeItIsGone) {
  OnNull here;
  Values ones;
  ones.fill(1);
  here.device.copy_in(here.executor->stream(), here.at(kX), std::as_bytes(std::span(ones)));
  Values x = {};
  here.device.copy_out(here.executor->stream(), std::as_writable_bytes(std::span(x)), here.at(kX));
  here.executor.reset();
  EXPECT_EQ(x, ones);
}

}  // namespace
}  // namespace trireme::engine
