// Whole training steps of GPT-2 124M on this machine's cores: tokens per second, MFU against the
// FMA loop measured in the same run, and where the time goes by op kind. Peers:
// docs/performance.md.

#include <algorithm>
#include <cstdlib>

#include "bench/op_profile.h"
#include "comm/local/solo.h"
#include "core/format.h"
#include "core/log.h"
#include "core/process_memory.h"
#include "device/cpu/cpu_device.h"
#include "ops/cpu/peak.h"
#include "train/checkpointing.h"
#include "train/trainer.h"

namespace trireme {
namespace {

constexpr int64_t kWords = 50257;

struct Setting {
  int64_t sequences;
  int64_t length;
  double dropout;
};

void measure(const Setting& setting, int steps) {
  const int64_t base = process_memory().value_or(0);
  device::CpuDevice cpu(usable_cores());
  comm::SoloCommunicator solo;
  const program::BackendProfile profile = {.threads = cpu.pool().threads()};
  engine::Session session(model::plan_run({.shape = {.layers = 12,
                                                     .hidden = 768,
                                                     .heads = 12,
                                                     .ffn = 3072,
                                                     .length = setting.length,
                                                     .positions = 1024,
                                                     .vocabulary = kWords,
                                                     .hidden_dropout = setting.dropout,
                                                     .attention_dropout = setting.dropout},
                                           .batch = {.sequences = setting.sequences},
                                           .profile = profile}),
                          {.device = &cpu, .kernels = &ops::cpu_kernels(), .profile = profile},
                          solo);
  const auto batches = std::make_shared<const data::Batches>(
      std::make_shared<const data::MockSamples>(data::MockSamples::Options{
          .vocab_size = kWords, .sequence_length = setting.length, .samples = 1 << 20}),
      data::BatchRules{.vocab_size = kWords});
  train::Trainer trainer(session, batches, train::BatchCourse::constant(setting.sequences),
                         {.most = 1e-4, .decay_samples = 1 << 20}, 1);
  train::initialise_weights(session, 1, cpu.pool());
  trainer.step();

  bench::OpProfile profile_of_ops;
  session.add_observer(profile_of_ops);
  std::vector<double> seconds;
  std::vector<double> peaks;
  for (int i = 0; i < steps; ++i) {
    peaks.push_back(ops::cpu::measured_fma_rate(cpu.pool(), 0.2));
    seconds.push_back(trainer.step().seconds);
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(peaks.begin(), peaks.end());
  const double median = seconds[seconds.size() / 2];
  const double peak = peaks[peaks.size() / 2];
  const double flops = session.plan().nominal_step_flops();
  say(
      format("GPT-2 124M, fp32, b {}, s {}, dropout {}, {} threads, {} steps: median {:.3f} s (min "
             "{:.3f}, max {:.3f}), "
             "{:.0f} tokens/s, {:.1f} GFLOP/s = {:.1f}% of the FMA loop's {:.1f} GFLOP/s (MFU), "
             "memory {} planned, {} taken",
             setting.sequences, setting.length, setting.dropout, profile.threads, steps, median,
             seconds.front(), seconds.back(),
             static_cast<double>(setting.sequences * setting.length) / median, flops / median / 1e9,
             100 * flops / median / peak, peak / 1e9,
             bytes_text(static_cast<double>(session.plan().memory.total())),
             bytes_text(static_cast<double>(process_memory().value_or(0) - base))));
  say(profile_of_ops.text(steps, "step"));
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  trireme::measure({.sequences = 4, .length = 256, .dropout = 0}, steps);
  trireme::measure({.sequences = 4, .length = 256, .dropout = 0.1}, steps);
  trireme::measure({.sequences = 2, .length = 1024, .dropout = 0}, std::max(1, steps / 2));
  trireme::measure({.sequences = 2, .length = 1024, .dropout = 0.1}, std::max(1, steps / 2));
  return 0;
}
