// Every CPU kernel at the shapes of GPT-2 124M, b = 4, s = 256: matrix products and attention as a
// share of the FMA loop, the rest as a share of the copy bandwidth, both measured in the same run.
//
//   ops_bench [--threads=N] [Google Benchmark's flags, as in --benchmark_filter=product]

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bench/machine.h"
#include "device/cpu/cpu_device.h"
#include "ops/kernel.h"
#include "ops/testing/case.h"
#include "ops/testing/trial.h"

namespace trireme {
namespace {

void run_case(benchmark::State& state, const ops::testing::Case& c, device::CpuDevice& device,
              const bench::Machine& machine) {
  const int threads = device.pool().threads();
  ops::testing::Trial trial(
      c, {.device = &device, .kernels = &ops::cpu_kernels(), .profile = {.threads = threads}});
  trial.launch();
  const auto begin = std::chrono::steady_clock::now();
  for ([[maybe_unused]] const auto& iteration : state) trial.launch();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  const double seconds = elapsed.count() / static_cast<double>(state.iterations());
  const program::Cost cost = program::cost_of(c.op);
  if (cost.nominal_flops > 0) {
    state.counters["GFLOP/s"] = cost.flops / seconds / 1e9;
    state.counters["of FMA loop"] = cost.flops / seconds / machine.fma_rate;
  } else {
    state.counters["GB/s"] = cost.bytes / seconds / 1e9;
    state.counters["of copy"] = cost.bytes / seconds / machine.copy_bandwidth;
  }
}

// Takes --threads=N out of the arguments; the default is all cores this process may use.
int threads_from(int& argc, char** argv) {
  constexpr std::string_view kFlag = "--threads=";
  int threads = usable_cores();
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, kFlag.size()) == kFlag) {
      threads = std::atoi(argv[i] + kFlag.size());
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return threads;
}

int run(int argc, char** argv) {
  const int threads = threads_from(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (threads < 1 || benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  device::CpuDevice device(threads);
  const bench::Machine machine = bench::measure_machine(device.pool());
  bench::print(machine, threads);
  for (const ops::testing::Case& c : ops::testing::cases_for_bench()) {
    if (c.in_place) continue;  // the same work, and its values would shrink to nothing
    benchmark::RegisterBenchmark(
        c.name.c_str(),
        [&device, machine, c](benchmark::State& state) { run_case(state, c, device, machine); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) {
  return trireme::run(argc, argv);
}
