// Two ranks that are threads: all-reduce and ping-pong over sizes. What to hold the numbers
// against: the copy bandwidth of two threads, measured in the same run. An all-reduce of two reads
// three halves of a buffer and writes two on each rank, so 2.5 buffers pass the memory in all; "of
// copy" is the time that takes at copy bandwidth over the time it took (buffers that fit the caches
// may be above 1).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/machine.h"
#include "comm/local/run.h"
#include "core/format.h"
#include "core/log.h"
#include "device/cpu/cpu_device.h"

namespace trireme {
namespace {

constexpr int kRanks = 2;
constexpr int kRounds = 7;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Median of some rounds, in seconds per call; one is called equally often by both ranks.
template <class F>
double seconds_per_call(int64_t bytes, F&& one) {
  const auto calls = static_cast<int>(std::clamp<int64_t>((32 << 20) / (bytes + 1), 2, 2000));
  std::vector<double> rounds;
  one();
  for (int round = 0; round < kRounds; ++round) {
    const double start = now();
    for (int call = 0; call < calls; ++call) one();
    rounds.push_back((now() - start) / calls);
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

void run(const bench::Machine& machine) {
  const comm::LocalRun ranks = {.ranks = kRanks, .patience = {.crowded = usable_cores() < kRanks}};
  comm::run_ranks(ranks, [&](comm::Port& port) {
    device::CpuDevice device(1);
    const auto stream = device.make_stream();
    comm::Communicator& world = port.world();
    const bool speaks = world.rank() == 0;
    std::vector<float> buffer(16 << 20, 1.0F);
    if (speaks) say("all-reduce of 2 ranks     us      GB/s   of copy");
    for (int64_t bytes = 4 << 10; bytes <= 64 << 20; bytes *= 4) {
      const double seconds = seconds_per_call(bytes, [&] {
        world.wait(
            world.start_all_reduce(*stream, buffer.data(), bytes / 4, program::Reduction::maximum),
            *stream);
      });
      const auto size = static_cast<double>(bytes);
      if (speaks) {
        say(format("{:>19} {:>9.1f} {:>9.2f} {:>9.2f}", bytes_text(size), seconds * 1e6,
                   size / seconds * 1e-9, 2.5 * size / machine.copy_bandwidth / seconds));
      }
    }
    if (speaks) say("ping-pong, one way        us      GB/s");
    for (const int64_t bytes : {4, 4 << 10, 64 << 10, 1 << 20, 16 << 20}) {
      const double seconds = seconds_per_call(bytes, [&] {
        const auto pass = [&](bool sends) {
          world.wait(sends ? world.start_send(*stream, 1 - world.rank(), buffer.data(), bytes,
                                              comm::Traffic::activation)
                           : world.start_receive(*stream, 1 - world.rank(), buffer.data(), bytes,
                                                 comm::Traffic::activation),
                     *stream);
        };
        pass(speaks);
        pass(!speaks);
      });
      const auto size = static_cast<double>(bytes);
      if (speaks) {
        say(format("{:>19} {:>9.2f} {:>9.2f}", bytes_text(size), seconds / 2 * 1e6,
                   size / (seconds / 2) * 1e-9));
      }
    }
  });
}

}  // namespace
}  // namespace trireme

int main() try {
  trireme::bench::Machine machine;
  {
    trireme::ThreadPool pool(2);
    machine = trireme::bench::measure_machine(pool);
    trireme::bench::print(machine, 2);
  }
  trireme::run(machine);
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fputs(error.what(), stderr);
  return EXIT_FAILURE;
}
