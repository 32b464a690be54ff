// Steps of GPT-2 124M cut over two ranks, each with one thread, beside one rank with two threads:
// pairs of steps in turn, so that both sides see the same machine. The number is the ratio of their
// tokens per second, with its 90% interval over the pairs (of their logarithms, by Student's t); a
// case ends when the interval is narrower than what the bar leaves, or after the most pairs.

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "comm/local/run.h"
#include "core/format.h"
#include "core/log.h"
#include "device/cpu/cpu_device.h"
#include "engine/groups.h"
#include "train/checkpointing.h"
#include "train/cut.h"
#include "train/trainer.h"

namespace trireme {
namespace {

constexpr int64_t kWords = 50257;
constexpr int64_t kGlobalBatch = 16;

model::GptShape gpt2(int64_t words) {
  return {.layers = 12,
          .hidden = 768,
          .heads = 12,
          .ffn = 3072,
          .length = 256,
          .positions = 1024,
          .vocabulary = words,
          .hidden_dropout = 0,
          .attention_dropout = 0};
}

struct Setting {
  int p = 1;
  int t = 1;
  int d = 1;
  int64_t micro_batch = 4;
  int threads = 1;
  bool overlap = true;
};

/// A run that takes a step when it is asked for one; its ranks sleep in between.
class Side {
 public:
  explicit Side(const Setting& setting)
      : setting_(setting), topology_(setting.p, setting.t, setting.d) {
    thread_ = std::thread([this] { run(); });
  }
  ~Side() {
    ask(kEnd);
    thread_.join();
  }

  /// Seconds of a step.
  double step() {
    std::unique_lock lock(mutex_);
    asked_ = asked_ + 1;
    wake_.notify_all();
    done_.wait(lock, [&] { return steps_ == asked_; });
    return seconds_;
  }

 private:
  static constexpr int kEnd = -1;

  void ask(int what) {
    const std::lock_guard lock(mutex_);
    asked_ = what;
    wake_.notify_all();
  }

  void run() {
    comm::LocalRun local = {
        .ranks = topology_.world_size(),
        .patience = {.crowded = topology_.world_size() * setting_.threads > usable_cores()}};
    comm::run_ranks(local, [&](comm::Port& port) { rank(port); });
  }

  void rank(comm::Port& port) {
    device::CpuDevice cpu(setting_.threads);
    cpu.pool().between_tasks([&] { port.world().progress(); });
    const engine::RankGroups groups(port, topology_);
    const model::GptShape shape = gpt2(kWords);
    const model::BatchShape batch = {
        .sequences = setting_.micro_batch,
        .microbatches = static_cast<int>(kGlobalBatch / setting_.micro_batch / setting_.d)};
    const program::BackendProfile profile = {.threads = setting_.threads};
    engine::Session session(
        model::plan_run(
            {.shape = shape,
             .batch = batch,
             .topology = topology_,
             .at = topology_.coordinates(Rank{port.rank()}),
             .layout = parallel::balanced_layout(shape.layers, setting_.p, 1,
                                                 train::stage_costs(shape, batch, topology_)),
             .reduction = {.overlap = setting_.overlap},
             .profile = profile}),
        {.device = &cpu, .kernels = &ops::cpu_kernels(), .profile = profile}, groups.all());
    if (port.rank() == 0 && setting_.p > 1) say(session.plan().layout.placement());
    const auto batches = std::make_shared<const data::Batches>(
        std::make_shared<const data::MockSamples>(data::MockSamples::Options{
            .vocab_size = kWords, .sequence_length = shape.length, .samples = 1 << 20}),
        data::BatchRules{.vocab_size = kWords});
    train::Trainer trainer(session, batches, train::BatchCourse::constant(kGlobalBatch),
                           {.most = 1e-4, .decay_samples = 1 << 20}, 1);
    train::initialise_weights(session, 1, cpu.pool());
    for (int taken = 0;; ++taken) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return asked_ == kEnd || asked_ > taken; });
        if (asked_ == kEnd) return;
      }
      const double seconds = trainer.step().seconds;
      if (port.rank() != 0) continue;
      const std::lock_guard lock(mutex_);
      seconds_ = seconds;
      steps_ = taken + 1;
      done_.notify_all();
    }
  }

  Setting setting_;
  parallel::Topology topology_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  int asked_ = 0;  // steps, or kEnd
  int steps_ = 0;
  double seconds_ = 0;
};

// 95% quantiles of Student's t, by degrees of freedom.
double quantile(size_t freedom) {
  static constexpr double kTable[] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895,
                                      1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761,
                                      1.753, 1.746, 1.740, 1.734, 1.729};
  return kTable[std::min(freedom, std::size(kTable)) - 1];
}

struct Interval {
  double low, middle, high;
};
Interval interval_of(const std::vector<double>& logs) {
  double mean = 0;
  for (const double x : logs) mean += x / static_cast<double>(logs.size());
  double square = 0;
  for (const double x : logs) square += (x - mean) * (x - mean);
  const auto n = static_cast<double>(logs.size());
  const double half = quantile(logs.size() - 1) * std::sqrt(square / (n - 1) / n);
  return {std::exp(mean - half), std::exp(mean), std::exp(mean + half)};
}

/// bar: the least ratio that is wanted.
void compare(const std::string& name, const Setting& setting, const Setting& reference, double bar,
             int most) {
  Side here(setting);
  Side there(reference);
  here.step();
  there.step();
  std::vector<double> logs;
  double seconds = 0;
  Interval interval = {0, 1, 2};
  while (static_cast<int>(logs.size()) < most) {
    const bool first = logs.size() % 2 == 0;  // neither side always follows the other
    const double before = first ? there.step() : 0;
    const double own = here.step();
    const double other = first ? before : there.step();
    logs.push_back(std::log(other / own));
    seconds += own;
    if (logs.size() < 3) continue;
    interval = interval_of(logs);
    if (interval.high - interval.low < std::fabs(1 - bar)) break;
  }
  say(
      format("{}: {:.3f} of the tokens/s, 90% interval {:.3f} to {:.3f}, {} pairs, bar {:.3f}; "
             "{:.2f} s a step",
             name, interval.middle, interval.low, interval.high, logs.size(), bar,
             seconds / static_cast<double>(logs.size())));
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) {
  using trireme::Setting;
  const int most = argc > 1 ? std::max(3, std::atoi(argv[1])) : 20;
  const std::string only = argc > 2 ? argv[2] : "";
  const auto wanted = [&](const char* name) { return only.empty() || only == name; };
  const Setting alone = {.threads = 2};
  if (wanted("t")) trireme::compare("t = 2", {.t = 2}, alone, 0.92, most);
  if (wanted("d")) trireme::compare("d = 2", {.d = 2}, alone, 0.92, most);
  // A pipeline of m microbatches is busy for m of m + p - 1 turns.
  if (wanted("p")) {
    trireme::compare("p = 2", {.p = 2, .micro_batch = 1}, {.micro_batch = 1, .threads = 2},
                     0.92 * 16 / 17, most);
  }
  if (wanted("overlap")) {
    trireme::compare("overlap beside none, d = 2", {.d = 2}, {.d = 2, .overlap = false}, 0.98,
                     most);
  }
  return 0;
}
