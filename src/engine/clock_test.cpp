#include "engine/clock.h"

#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "comm/local/run.h"
#include "device/cpu/cpu_device.h"

namespace trireme::engine {
namespace {

// Readings of all ranks at the begin and at the end of a while, on clocks of the test's own.
struct Readings {
  ClockReading begin;
  ClockReading end;
};

std::vector<Readings> readings_of(int ranks, const std::function<int64_t(int rank)>& clock) {
  std::vector<Readings> all(static_cast<size_t>(ranks));
  comm::run_ranks({.ranks = ranks}, [&](comm::Port& port) {
    device::CpuDevice cpu(1);
    const auto stream = cpu.make_stream();
    const auto now = [&] { return clock(port.rank()); };
    Readings& own = all[static_cast<size_t>(port.rank())];
    own.begin = read_first_clock(port.world(), *stream, now);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    own.end = read_first_clock(port.world(), *stream, now);
    port.finish(*stream);
  });
  return all;
}

TEST(Clocks, OfOneHostAreTheSame) {
  for (const Readings& readings : readings_of(4, [](int) { return steady_nanoseconds(); })) {
    const ClockLine line(readings.begin, readings.end);
    for (const int64_t time : {int64_t{0}, readings.begin.here, readings.end.here})
      EXPECT_EQ(line.on_first(time), time);
  }
}

TEST(Clocks, OfSeveralHostsAreAlignedWithinTheirUncertainty) {
  // Booted at other times; one gains a thousandth.
  const int64_t origin = steady_nanoseconds();
  const auto clock = [&](int rank) {
    const int64_t since = steady_nanoseconds() - origin;
    return rank * 3'000'000'000 + since + (rank == 2 ? since / 1000 : 0);
  };
  const std::vector<Readings> all = readings_of(4, clock);
  for (int rank = 0; rank < 4; ++rank) {
    const auto& [begin, end] = all[static_cast<size_t>(rank)];
    const ClockLine line(begin, end);
    const int64_t tolerance = std::max(begin.uncertainty, end.uncertainty) + 2;
    for (int64_t since = begin.first; since <= end.first; since += 10'000'000) {
      const int64_t here = rank * 3'000'000'000 + since + (rank == 2 ? since / 1000 : 0);
      EXPECT_NEAR(static_cast<double>(line.on_first(here)), static_cast<double>(since),
                  static_cast<double>(tolerance))
          << "rank " << rank;
    }
    // A rank that answers at once is known to within its way there and back.
    EXPECT_LT(tolerance, 20'000'000);
  }
}

TEST(ClockLine, InterpolatesOffsetAndDrift) {
  const ClockLine line({.here = 1000, .first = 5000, .uncertainty = 10},
                       {.here = 2000, .first = 6100, .uncertainty = 10});
  EXPECT_EQ(line.on_first(1000), 5000);
  EXPECT_EQ(line.on_first(1500), 5550);
  EXPECT_EQ(line.on_first(2000), 6100);
  EXPECT_EQ(line.on_first(3000), 7200);
}

TEST(ClockLine, TakesForOneClockWhatCannotBeToldApart) {
  const ClockLine line({.here = 1000, .first = 1008, .uncertainty = 10},
                       {.here = 2000, .first = 1995, .uncertainty = 10});
  EXPECT_EQ(line.on_first(1500), 1500);
}

}  // namespace
}  // namespace trireme::engine
