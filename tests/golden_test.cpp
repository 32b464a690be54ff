// One small GPT against PyTorch from the same weights, tokens and masks: tests/golden/README.md.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "checkpoint/safetensors.h"
#include "comm/local/solo.h"
#include "core/format.h"
#include "device/cpu/cpu_device.h"
#include "engine/initialise.h"
#include "engine/session.h"

namespace trireme {
namespace {

using engine::TensorState;
using program::BatchField;
using program::StepScalar;

class Golden {
 public:
  explicit Golden(const std::string& file)
      : file_(Path(TRIREME_SOURCE_DIR) / "tests/golden" / (file + ".safetensors")) {}

  template <class T>
  [[nodiscard]] std::vector<T> read(const std::string& key) const {
    const auto found = file_.find(key);
    EXPECT_TRUE(found.has_value()) << key;
    const std::span<const std::byte> bytes = file_.bytes(*found);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  [[nodiscard]] double number(const std::string& key) const {
    return std::stod(file_.metadata().at(key));
  }
  [[nodiscard]] int64_t integer(const std::string& key) const {
    return std::stoll(file_.metadata().at(key));
  }

  [[nodiscard]] model::RunRequest request(model::AttentionForm attention) const {
    const auto b = integer("micro_batch_size");
    return {.shape = {.layers = static_cast<int>(integer("num_layers")),
                      .hidden = integer("hidden_size"),
                      .heads = integer("num_attention_heads"),
                      .ffn = integer("ffn_hidden_size"),
                      .length = integer("seq_length"),
                      .positions = integer("max_position_embeddings"),
                      .vocabulary = integer("vocab_size"),
                      .hidden_dropout = number("hidden_dropout"),
                      .attention_dropout = number("attention_dropout"),
                      .norm_epsilon = number("layernorm_epsilon"),
                      .init_deviation = number("init_method_std"),
                      .tied_embeddings =
                          file_.metadata().at("untie_embeddings_and_output_weights") == "false",
                      .attention = attention},
            .batch = {.sequences = b,
                      .microbatches = static_cast<int>(integer("global_batch_size") / b)},
            .optimizer = {.beta1 = number("adam_beta1"),
                          .beta2 = number("adam_beta2"),
                          .epsilon = number("adam_eps"),
                          .weight_decay = number("weight_decay"),
                          .clip_gradient = number("clip_grad")}};
  }

 private:
  checkpoint::SafetensorsFile file_;
};

// The trainer's session on one backend, fed with the golden batches.
class GoldenRun {
 public:
  GoldenRun(const Golden& golden, const ops::KernelTable& kernels, int threads,
            model::AttentionForm attention)
      : golden_(golden),
        cpu_(threads),
        session_(model::plan_run(with_threads(golden.request(attention), threads)),
                 {.device = &cpu_, .kernels = &kernels, .profile = {.threads = threads}}, solo_),
        tokens_(golden.read<int32_t>("tokens")),
        mask_(golden.read<float>("loss_mask")) {
    session_.set_scalar(StepScalar::seed, static_cast<int32_t>(golden.integer("seed")));
  }

  [[nodiscard]] const model::RunPlan& plan() const { return session_.plan(); }

  // Tensors with a value of their own.
  [[nodiscard]] std::vector<TensorId> tensors() const {
    std::vector<TensorId> ids;
    for (int i = 0; i < plan().table.size(); ++i) {
      if (!plan().table[TensorId{i}].tied_to) ids.push_back(TensorId{i});
    }
    return ids;
  }

  std::vector<float> read(TensorId id, TensorState state) {
    std::vector<float> values(static_cast<size_t>(session_.slice_elements(id)));
    session_.read_tensor(id, state, values);
    return values;
  }
  void write(TensorId id, TensorState state, const std::vector<float>& values) {
    session_.write_tensor(id, state, values);
  }

  // The gradient of a tensor: of a tied one the sum over its uses, since the batch was reduced.
  std::vector<float> gradient(TensorId id) { return read(id, TensorState::gradient); }
  // Puts a gradient in place of the one that was computed.
  void write_gradient(TensorId id, const std::vector<float>& values) {
    write(id, TensorState::gradient, values);
  }

  // Forward and backward of the global batch of a step (from 1); its loss.
  double forward_backward(int64_t step) {
    const int64_t samples = plan().batch.sequences * plan().batch.microbatches;
    const int64_t s = plan().shape.length;
    double counted = 0;
    for (int64_t i = 0; i < samples * s; ++i)
      counted += static_cast<double>(mask_[static_cast<size_t>((step - 1) * samples * s + i)]);
    session_.set_scalar(StepScalar::loss_total, 0.0);
    session_.set_scalar(StepScalar::gradient_scale, static_cast<float>(1 / counted));
    session_.set_scalar(StepScalar::learning_rate, static_cast<float>(golden_.number("lr")));
    session_.set_scalar(StepScalar::adam_step, step);
    for (const schedule::Action& action : plan().largest_batch().schedule.actions) {
      if (action.kind == schedule::ActionKind::step) continue;
      if (action.kind == schedule::ActionKind::forward) {
        write_batch(action.microbatch,
                    (step - 1) * samples + action.microbatch.value * plan().batch.sequences);
      }
      session_.run(action);
    }
    return session_.scalar<double>(StepScalar::loss_total) / counted;
  }

  // The optimizer step; the gradient norm.
  double optimizer_step() {
    session_.run({.kind = schedule::ActionKind::step});
    return session_.scalar<double>(StepScalar::gradient_norm);
  }

 private:
  static model::RunRequest with_threads(model::RunRequest request, int threads) {
    request.profile.threads = threads;
    return request;
  }

  void write_batch(MicrobatchId microbatch, int64_t first_sample) {
    const int64_t s = plan().shape.length;
    const int64_t b = plan().batch.sequences;
    std::vector<int32_t> tokens;
    std::vector<int32_t> labels;
    std::vector<int32_t> positions;
    std::vector<float> mask;
    std::vector<int64_t> samples;
    for (int64_t i = 0; i < s; ++i) {
      for (int64_t j = 0; j < b; ++j) {
        tokens.push_back(tokens_[static_cast<size_t>((first_sample + j) * (s + 1) + i)]);
        labels.push_back(tokens_[static_cast<size_t>((first_sample + j) * (s + 1) + i + 1)]);
        mask.push_back(mask_[static_cast<size_t>((first_sample + j) * s + i)]);
        positions.push_back(static_cast<int32_t>(i));
      }
    }
    for (int64_t j = 0; j < b; ++j) samples.push_back(first_sample + j);
    session_.write_field<int32_t>(BatchField::tokens, microbatch, tokens);
    session_.write_field<int32_t>(BatchField::labels, microbatch, labels);
    session_.write_field<int32_t>(BatchField::positions, microbatch, positions);
    session_.write_field<int32_t>(BatchField::segment_starts, microbatch,
                                  std::vector<int32_t>(tokens.size(), 0));
    session_.write_field<float>(BatchField::loss_mask, microbatch, mask);
    session_.write_field<int64_t>(BatchField::samples, microbatch, samples);
  }

  const Golden& golden_;
  device::CpuDevice cpu_;
  comm::SoloCommunicator solo_;
  engine::Session session_;
  std::vector<int32_t> tokens_;
  std::vector<float> mask_;
};

// Largest difference over the expected tensor's largest value, and where.
void expect_close(const std::vector<float>& found, const std::vector<float>& expected,
                  double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double largest = 0;
  for (const float e : expected) largest = std::max(largest, std::abs(static_cast<double>(e)));
  size_t worst = 0;
  double difference = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double d = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    if (!(d <= difference)) {
      difference = d;
      worst = i;
    }
  }
  EXPECT_LE(difference, tolerance * largest)
      << what << ": element " << worst << " is " << found[worst] << ", expected " << expected[worst]
      << " (largest " << largest << ")";
}

struct Case {
  const char* file;
  const char* kernels;
  int threads;
  model::AttentionForm attention = model::AttentionForm::recomputed;
};

class GoldenTest : public testing::TestWithParam<Case> {
 protected:
  GoldenTest() : golden_(GetParam().file) {}
  [[nodiscard]] const ops::KernelTable& kernels() const {
    return std::string(GetParam().kernels) == "reference" ? ops::reference_kernels()
                                                          : ops::cpu_kernels();
  }
  Golden golden_;
};

// PyTorch's own fp32 lies within 2e-6 (gradients) and 4e-6 (second moments) of these numbers; we
// allow some four times that.
constexpr double kGradientTolerance = 8e-6;
constexpr double kMomentTolerance = 1.6e-5;

TEST_P(GoldenTest, StartsFromTheSameWeightsBitForBit) {
  GoldenRun run(golden_, kernels(), GetParam().threads, GetParam().attention);
  ThreadPool pool(1);
  for (const TensorId id : run.tensors()) {
    const auto& tensor = run.plan().table[id];
    std::vector<float> values(static_cast<size_t>(tensor.shape.elements()));
    engine::initial_values(tensor, run.plan().local[id].slice,
                           static_cast<uint32_t>(golden_.integer("seed")), pool, values);
    EXPECT_EQ(values, golden_.read<float>("step1.parameter." + tensor.name)) << tensor.name;
  }
}

TEST_P(GoldenTest, HasPyTorchsLossGradientsMomentsAndUpdatesInEveryStep) {
  GoldenRun run(golden_, kernels(), GetParam().threads, GetParam().attention);
  const auto losses = golden_.read<double>("losses");
  const auto norms = golden_.read<double>("grad_norms");
  for (int step = 1; step <= 3; ++step) {
    const auto key = [&](int n, const char* what, TensorId id) {
      return format("step{}.{}.{}", n, what, run.plan().table[id].name);
    };
    for (const TensorId id : run.tensors()) {
      const auto parameter = golden_.read<float>(key(step, "parameter", id));
      run.write(id, TensorState::parameter, parameter);
      const std::vector<float> zero(parameter.size(), 0.0F);
      run.write(id, TensorState::first_moment,
                step == 1 ? zero : golden_.read<float>(key(step - 1, "exp_avg", id)));
      run.write(id, TensorState::second_moment,
                step == 1 ? zero : golden_.read<float>(key(step - 1, "exp_avg_sq", id)));
    }
    const double loss = run.forward_backward(step);
    EXPECT_NEAR(loss / losses[static_cast<size_t>(step - 1)], 1, 1e-6) << "step " << step;
    for (const TensorId id : run.tensors()) {
      const auto expected = golden_.read<float>(key(step, "gradient", id));
      expect_close(run.gradient(id), expected, kGradientTolerance, key(step, "gradient", id));
      run.write_gradient(id, expected);  // the optimizer is judged from the reference's own state
    }
    const double norm = run.optimizer_step();
    EXPECT_NEAR(norm / norms[static_cast<size_t>(step - 1)], 1, 1e-6) << "step " << step;
    for (const TensorId id : run.tensors()) {
      expect_close(run.read(id, TensorState::first_moment),
                   golden_.read<float>(key(step, "exp_avg", id)), kMomentTolerance,
                   key(step, "exp_avg", id));
      expect_close(run.read(id, TensorState::second_moment),
                   golden_.read<float>(key(step, "exp_avg_sq", id)), kMomentTolerance,
                   key(step, "exp_avg_sq", id));
      // A parameter keeps its update to half a unit in its last place; the update itself, about one
      // learning rate large, is the result of some eight roundings.
      const double roundings = 8 * 0x1p-24 * golden_.number("lr");
      const auto before = golden_.read<float>(key(step, "parameter", id));
      const auto update = golden_.read<float>(key(step, "update", id));
      const auto after = run.read(id, TensorState::parameter);
      for (size_t e = 0; e < after.size(); ++e) {
        const double expected = static_cast<double>(before[e]) + static_cast<double>(update[e]);
        const double ulp =
            std::abs(static_cast<double>(std::nextafter(after[e], 2 * after[e] + 1) - after[e]));
        ASSERT_NEAR(after[e], expected, 0.51 * ulp + roundings)
            << key(step, "update", id) << " element " << e;
      }
    }
  }
}

TEST_P(GoldenTest, FollowsPyTorchsLossesForTwentySteps) {
  GoldenRun run(golden_, kernels(), GetParam().threads, GetParam().attention);
  for (const TensorId id : run.tensors()) {
    run.write(id, TensorState::parameter,
              golden_.read<float>("step1.parameter." + run.plan().table[id].name));
  }
  const auto losses = golden_.read<double>("losses");
  for (int64_t step = 1; step <= 20; ++step) {
    EXPECT_NEAR(run.forward_backward(step) / losses[static_cast<size_t>(step - 1)], 1, 1e-5)
        << "step " << step;
    run.optimizer_step();
  }
}

INSTANTIATE_TEST_SUITE_P(
    PyTorch, GoldenTest,
    testing::Values(Case{"gpt_plain", "reference", 1}, Case{"gpt_dropout", "reference", 1},
                    Case{"gpt_untied_masked", "reference", 1}, Case{"gpt_plain", "cpu", 1},
                    Case{"gpt_dropout", "cpu", 2}, Case{"gpt_untied_masked", "cpu", 3},
                    Case{"gpt_dropout", "reference", 1, model::AttentionForm::stored},
                    Case{"gpt_plain", "cpu", 1, model::AttentionForm::stored},
                    Case{"gpt_dropout", "cpu", 2, model::AttentionForm::stored}),
    [](const auto& param_info) {
      const bool stored = param_info.param.attention == model::AttentionForm::stored;
      return std::string(param_info.param.file) + "_" + param_info.param.kernels +
             (stored ? "_stored" : "");
    });

}  // namespace
}  // namespace trireme
