// Decoding with a model of GPT-2 124M's shape: tokens per second, and the bytes of weights that
// each step reads against what the threads can read from memory in the same run.

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "bench/machine.h"
#include "bench/op_profile.h"
#include "comm/local/run.h"
#include "comm/local/solo.h"
#include "core/format.h"
#include "core/log.h"
#include "device/cpu/cpu_device.h"
#include "engine/groups.h"
#include "generate/generator.h"
#include "train/checkpointing.h"

namespace trireme::bench {
namespace {

constexpr int64_t kWords = 50257;
constexpr int64_t kHidden = 768;
constexpr int64_t kPositions = 1024;

model::GptShape gpt2_shape() {
  return {.layers = 12,
          .hidden = kHidden,
          .heads = 12,
          .ffn = 4 * kHidden,
          .length = kPositions,
          .positions = kPositions,
          .vocabulary = kWords};
}

void bench(int64_t places, int64_t prompt_tokens, int64_t tokens, const generate::Sampling& how) {
  device::CpuDevice cpu(usable_cores());
  comm::SoloCommunicator solo;
  const program::BackendProfile profile = {.threads = cpu.pool().threads()};
  engine::Session session(
      model::plan_run({.shape = gpt2_shape(),
                       .profile = profile,
                       .train = false,
                       .decode = {.capacity = prompt_tokens + tokens, .places = places}}),
      {.device = &cpu, .kernels = &ops::cpu_kernels(), .profile = profile}, solo);
  train::initialise_weights(session, 1, cpu.pool());
  const Machine machine = measure_machine(cpu.pool());

  std::vector<generate::Request> requests;
  for (int64_t i = 0; i < places; ++i) {
    requests.push_back({.count = tokens, .sample = i});
    for (int64_t at = 0; at < prompt_tokens; ++at)
      requests.back().prompt.push_back(static_cast<int32_t>((at * 7919 + i * 104729) % kWords));
  }
  OpProfile ops;
  session.add_observer(ops);
  generate::Generator generator(session, how, kWords, cpu.pool());
  bool reads = true;
  std::vector<double> steps;
  auto begin = std::chrono::steady_clock::now();
  generator.run(requests, [&](size_t request, int32_t) {
    const auto now = std::chrono::steady_clock::now();
    if (request == 0 && !reads) steps.push_back(std::chrono::duration<double>(now - begin).count());
    if (request == 0) begin = now;
    if (reads) {  // the first step has read the prompts, too
      say(format(
          "{} prompts of {} tokens read at {:.0f} tokens/s", places, prompt_tokens,
          static_cast<double>(generator.work().prompt_tokens) / generator.work().prompt_seconds));
      say(ops.text(static_cast<double>(generator.work().prompt_tokens) / 1000, "1000 tokens"));
      ops.clear();
      reads = false;
    }
    return true;
  });
  const generate::Generator::Work& work = generator.work();
  // Positions are looked up, one row of many; all else is read once.
  const auto bytes =
      static_cast<double>(session.plan().local.parameter_bytes - 4 * kPositions * kHidden);
  std::sort(steps.begin(), steps.end());
  const double step = steps[steps.size() / 2];
  say(format(
      "b {}, {} threads: {:.1f} ms a step (median), {:.1f} tokens/s; the best {:.1f} ms, weights "
      "at {:.1f} GB/s = {:.0f}% of reading memory ({:.1f} GB/s); choosing {:.1f} ms a step",
      places, profile.threads, 1e3 * step, static_cast<double>(places) / step, 1e3 * steps.front(),
      bytes / steps.front() / 1e9, 100 * bytes / steps.front() / machine.read_bandwidth,
      machine.read_bandwidth / 1e9,
      1e3 * (work.answer_seconds - ops.seconds()) / static_cast<double>(tokens)));
  say(ops.text(static_cast<double>(tokens - 1), "step"));
}

// The same model cut over ranks of one thread each; answers from prompts of one token.
void bench_ranks(const parallel::Topology& topology, int64_t places, int64_t groups,
                 int64_t tokens) {
  const bool crowded = topology.world_size() > usable_cores();
  comm::run_ranks(
      {.ranks = topology.world_size(), .patience = {.crowded = crowded}}, [&](comm::Port& port) {
        device::CpuDevice cpu(1);
        engine::RankGroups rank_groups(port, topology);
        const double layer = 12 * kHidden * kHidden;
        engine::Session session(
            model::plan_run(
                {.shape = gpt2_shape(),
                 .topology = topology,
                 .at = topology.coordinates(Rank{port.rank()}),
                 .layout = parallel::balanced_layout(12, topology.pipeline(), 1,
                                                     {.layer = layer, .head = kHidden * kWords}),
                 .profile = {.threads = 1},
                 .train = false,
                 .decode = {.capacity = tokens + 1, .places = places, .groups = groups}}),
            {.device = &cpu, .kernels = &ops::cpu_kernels(), .profile = {.threads = 1}},
            rank_groups.all());
        train::initialise_weights(session, 1, cpu.pool());
        std::vector<generate::Request> requests;
        for (int64_t i = 0; i < places; ++i)
          requests.push_back({.prompt = {static_cast<int32_t>(i)}, .count = tokens, .sample = i});
        generate::Generator generator(session, {.temperature = 0}, kWords, cpu.pool());
        generator.run(requests, [](size_t, int32_t) { return true; });
        if (port.rank() != 0) return;
        const generate::Generator::Work& work = generator.work();
        say(format("p {} t {}, b {} in {} group{}: {:.1f} tokens/s", topology.pipeline(),
                   topology.tensor(), places, groups, groups == 1 ? "" : "s",
                   static_cast<double>(work.answer_tokens) / work.answer_seconds));
      });
}

}  // namespace
}  // namespace trireme::bench

int main(int argc, char** argv) {
  const int64_t tokens = argc > 1 ? std::max(2, std::atoi(argv[1])) : 48;
  for (const int64_t places : {1, 8}) {
    trireme::bench::bench(places, 256, tokens, {.temperature = 0});
    trireme::bench::bench(places, 16, tokens, {.temperature = 0.8, .top_k = 40, .top_p = 0.95});
  }
  for (const int64_t places : {8, 32}) {
    trireme::bench::bench_ranks({1, 1, 1}, places, 1, tokens);
    trireme::bench::bench_ranks({2, 1, 1}, places, 1, tokens);
    trireme::bench::bench_ranks({2, 1, 1}, places, 2, tokens);
    trireme::bench::bench_ranks({1, 2, 1}, places, 1, tokens);
  }
  return 0;
}
