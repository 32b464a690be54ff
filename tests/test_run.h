#pragma once
// A small run of the trainer with everything it needs, for tests of whole runs.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "comm/local/solo.h"
#include "device/cpu/cpu_device.h"
#include "train/checkpointing.h"
#include "train/trainer.h"

namespace trireme {

using engine::TensorState;

inline constexpr int64_t kWords = 61;
inline constexpr int64_t kLength = 24;
inline constexpr uint32_t kSeed = 77;

// Sequences that can be learnt: each word follows from the one before by one of three rules per
// sample.
class RuleSamples final : public data::SampleSource {
 public:
  explicit RuleSamples(int64_t length = kLength, int64_t words = kWords)
      : length_(length), words_(words) {}
  [[nodiscard]] int64_t samples() const override { return 1000; }
  [[nodiscard]] int64_t sequence_length() const override { return length_; }
  void read(int64_t k, std::span<int32_t> tokens) const override {
    int64_t word = (k * 7919) % words_;
    for (int32_t& token : tokens) {
      token = static_cast<int32_t>(word);
      word = (word * (2 + k % 3) + 5) % words_;
    }
  }
  [[nodiscard]] std::string origin(int64_t k, int64_t) const override {
    return "sample " + std::to_string(k);
  }

 private:
  int64_t length_;
  int64_t words_;
};

struct RunOptions {
  int threads = 1;
  int64_t micro_batch = 2;
  int microbatches = 2;
  int readers = 0;
  double dropout = 0.1;
  model::AttentionForm attention = model::AttentionForm::recomputed;
  bool documents = true;  ///< the program keeps them apart where the rules of the data ask for it
  bool grows = false;     ///< from one microbatch to all, by one every 4 samples
};

/// What the model of a run is on, when it is not on the cores.
struct Machine {
  device::Device& device;
  const ops::KernelTable& kernels;
  comm::Communicator& tensor_group;
};

// A run with everything it needs, from fresh weights.
struct TestRun {
  explicit TestRun(
      const RunOptions& options,
      std::shared_ptr<const data::SampleSource> source = std::make_shared<RuleSamples>(),
      const data::BatchRules& rules = {.vocab_size = kWords}, const Machine* machine = nullptr)
      : cpu(options.threads),
        batches(std::make_shared<const data::Batches>(std::move(source), rules)),
        session(model::plan_run(
                    {.shape = {.layers = 2,
                               .hidden = 40,
                               .heads = 5,
                               .ffn = 160,
                               .length = kLength,
                               .positions = kLength,
                               .vocabulary = kWords,
                               .hidden_dropout = options.dropout,
                               .attention_dropout = options.dropout,
                               .attention = options.attention},
                     .batch = {.sequences = options.micro_batch,
                               .microbatches = options.microbatches,
                               .documents = options.documents},
                     .smaller_batches = options.grows ? std::vector{1, 2} : std::vector<int>{},
                     .profile = {.threads = options.threads},
                     .evaluate = true}),
                {.device = machine ? &machine->device : &cpu,
                 .kernels = machine ? &machine->kernels : &ops::cpu_kernels(),
                 .profile = {.threads = options.threads}},
                machine ? machine->tensor_group : solo),
        trainer(session, batches, course(options),
                {.style = config::LrDecayStyle::cosine,
                 .most = 3e-3,
                 .least = 1e-4,
                 .warmup_samples = 8,
                 .decay_samples = 400},
                kSeed, {.threads = options.readers}) {
    train::initialise_weights(session, kSeed, cpu.pool());
  }

  TestRun(const RunOptions& options, const Machine& machine)
      : TestRun(options, std::make_shared<RuleSamples>(), {.vocab_size = kWords}, &machine) {}

  static train::BatchCourse course(const RunOptions& options) {
    const int64_t b = options.micro_batch;
    const int64_t whole = b * options.microbatches;
    if (!options.grows) return train::BatchCourse::constant(whole);
    return train::BatchCourse::ramp_up(b, b, 4 * (options.microbatches - 1), whole);
  }

  train::World world() { return {session.groups()[RankGroup::world], session.stream()}; }

  std::vector<double> steps(int count) {
    std::vector<double> losses;
    for (int i = 0; i < count; ++i) losses.push_back(trainer.step().loss);
    return losses;
  }

  // Every weight and moment.
  std::vector<float> state() {
    std::vector<float> all;
    for (const TensorState kind :
         {TensorState::parameter, TensorState::first_moment, TensorState::second_moment}) {
      for (int i = 0; i < session.plan().table.size(); ++i) {
        if (session.plan().table[TensorId{i}].tied_to) continue;
        std::vector<float> one(static_cast<size_t>(session.slice_elements(TensorId{i})));
        session.read_tensor(TensorId{i}, kind, one);
        all.insert(all.end(), one.begin(), one.end());
      }
    }
    return all;
  }

  device::CpuDevice cpu;
  comm::SoloCommunicator solo;
  std::shared_ptr<const data::Batches> batches;
  engine::Session session;
  train::Trainer trainer;
};

// Two documents of 10 and 14 tokens, EOD included, packed into one sample; or each in a sample of
// its own, with EODs behind it, which have no loss.
inline constexpr int32_t kEod = 60;
class PackedSamples final : public data::SampleSource {
 public:
  explicit PackedSamples(bool packed) : packed_(packed) {}
  [[nodiscard]] int64_t samples() const override { return packed_ ? 1 : 2; }
  [[nodiscard]] int64_t sequence_length() const override { return kLength; }
  void read(int64_t k, std::span<int32_t> tokens) const override {
    std::fill(tokens.begin(), tokens.end(), kEod);
    if (packed_ || k == 0) write(10, 3, tokens);
    if (packed_) write(14, 8, tokens.subspan(10));
    if (k == 1) write(14, 8, tokens);
  }
  [[nodiscard]] std::string origin(int64_t, int64_t) const override { return "here"; }

 private:
  static void write(int length, int word, std::span<int32_t> tokens) {
    for (int i = 0; i + 1 < length; ++i) {
      tokens[static_cast<size_t>(i)] = word;
      word = (word * 7 + 3) % kEod;
    }
  }
  bool packed_;
};

}  // namespace trireme
