#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "comm/local/solo.h"
#include "core/error.h"
#include "core/format.h"
#include "device/cpu/cpu_device.h"
#include "engine/initialise.h"
#include "engine/session.h"
#include "schedule/schedules.h"
#include "schedule/text.h"

namespace trireme::engine {
namespace {

using program::BatchField;
using program::StepScalar;

model::GptShape tiny() {
  return {.layers = 2,
          .hidden = 16,
          .heads = 2,
          .ffn = 64,
          .length = 8,
          .positions = 8,
          .vocabulary = 37};
}

// A rank with its device, driven by hand.
struct Rank0 {
  device::CpuDevice cpu{1};
  comm::SoloCommunicator solo;
  Session session;

  explicit Rank0(const model::RunRequest& request)
      : session(model::plan_run(request), {.device = &cpu, .kernels = &ops::reference_kernels()},
                solo) {
    const auto& plan = session.plan();
    for (int i = 0; i < plan.table.size(); ++i) {
      const TensorId id{i};
      std::vector<float> values(static_cast<size_t>(session.slice_elements(id)));
      initial_values(plan.table[id], plan.local[id].slice, 7, cpu.pool(), values);
      if (!plan.local[id].alias) session.write_tensor(id, TensorState::parameter, values);
    }
    session.set_scalar(StepScalar::seed, int32_t{7});
  }

  void write_batch(MicrobatchId microbatch, int64_t first_sample) {
    const int64_t s = session.plan().shape.length;
    const int64_t b = session.plan().batch.sequences;
    std::vector<int32_t> tokens;
    std::vector<int32_t> labels;
    std::vector<int32_t> positions;
    std::vector<int64_t> samples;
    for (int64_t i = 0; i < s; ++i) {
      for (int64_t j = 0; j < b; ++j) {
        const auto token = [&](int64_t at) {
          return static_cast<int32_t>((at * 5 + (first_sample + j) * 11) % 37);
        };
        tokens.push_back(token(i));
        labels.push_back(token(i + 1));
        positions.push_back(static_cast<int32_t>(i));
      }
    }
    for (int64_t j = 0; j < b; ++j) samples.push_back(first_sample + j);
    const std::vector<float> mask(tokens.size(), 1.0F);
    const std::vector<int32_t> starts(tokens.size(), 0);
    session.write_field<int32_t>(BatchField::tokens, microbatch, tokens);
    session.write_field<int32_t>(BatchField::labels, microbatch, labels);
    session.write_field<int32_t>(BatchField::positions, microbatch, positions);
    session.write_field<int32_t>(BatchField::segment_starts, microbatch, starts);
    session.write_field<float>(BatchField::loss_mask, microbatch, mask);
    session.write_field<int64_t>(BatchField::samples, microbatch, samples);
  }

  // One global batch by the plan's schedule, from a sample position; the mean loss.
  double step(int64_t first_sample, int64_t number) {
    const auto& plan = session.plan();
    const double tokens =
        static_cast<double>(plan.shape.length * plan.batch.sequences * plan.batch.microbatches);
    session.set_scalar(StepScalar::loss_total, 0.0);
    session.set_scalar(StepScalar::gradient_scale, static_cast<float>(1 / tokens));
    session.set_scalar(StepScalar::learning_rate, 0.01F);
    session.set_scalar(StepScalar::adam_step, number);
    for (const schedule::Action& action : plan.largest_batch().schedule.actions) {
      if (action.kind == schedule::ActionKind::forward) {
        write_batch(action.microbatch,
                    first_sample + action.microbatch.value * plan.batch.sequences);
      }
      session.run(action);
    }
    return session.scalar<double>(StepScalar::loss_total) / tokens;
  }

  // A batch of the plan's evaluation; from a sample position, or of the fields that are there.
  void evaluate(int64_t first_sample = -1) {
    const auto& plan = session.plan();
    session.set_scalar(StepScalar::loss_total, 0.0);
    session.start_evaluation();
    for (const schedule::Action& action : plan.evaluation->schedule.actions) {
      if (first_sample >= 0) {
        write_batch(action.microbatch,
                    first_sample + action.microbatch.value * plan.batch.sequences);
      }
      session.run(action);
    }
    if (!plan.batches.empty()) session.start_batch(plan.largest_batch().microbatches);
  }

  std::vector<float> read(TensorId id, TensorState state) {
    std::vector<float> values(static_cast<size_t>(session.slice_elements(id)));
    session.read_tensor(id, state, values);
    return values;
  }
};

TEST(Session, StartsAtTheLossOfAUniformGuessAndLearns) {
  Rank0 rank({.shape = tiny(), .batch = {.sequences = 2, .microbatches = 2}});
  const double first = rank.step(0, 1);
  EXPECT_NEAR(first, std::log(37), 0.05);
  double last = first;
  for (int64_t k = 2; k <= 30; ++k) last = rank.step(0, k);
  EXPECT_LT(last, 0.5 * first);
}

TEST(Session, AllocatesWhatTheMemoryTableSays) {
  Rank0 rank({.shape = tiny(), .batch = {.sequences = 2, .microbatches = 2}, .evaluate = true});
  for (int i = 0; i < model::kArenas; ++i) {
    const auto kind = static_cast<model::ArenaKind>(i);
    EXPECT_EQ(rank.session.memory().bytes(kind), rank.session.plan().memory[kind])
        << model::name_of(kind);
  }
}

TEST(Session, GivesOneGradientForAnyCutIntoMicrobatches) {
  // The same four samples as 1 x 4, 2 x 2 and 4 x 1, dropout on: equal but for the order of sums.
  std::vector<std::vector<float>> gradients;
  for (const int microbatches : {1, 2, 4}) {
    Rank0 rank(
        {.shape = tiny(), .batch = {.sequences = 4 / microbatches, .microbatches = microbatches}});
    rank.step(100, 1);
    std::vector<float>& all = gradients.emplace_back();
    for (int i = 0; i < rank.session.plan().table.size(); ++i) {
      const auto one = rank.read(TensorId{i}, TensorState::gradient);
      all.insert(all.end(), one.begin(), one.end());
    }
  }
  float largest = 0;
  for (const float g : gradients[0]) largest = std::max(largest, std::abs(g));
  for (size_t other : {size_t{1}, size_t{2}}) {
    for (size_t i = 0; i < gradients[0].size(); ++i) {
      EXPECT_NEAR(gradients[0][i], gradients[other][i], 2e-6 * largest) << i;
    }
  }
}

// Weight gradients that wait until other microbatches have been forward and backward. Memory that
// was planned for B would give other numbers.
TEST(Session, HasTheBitsOfOneBackwardWhereItsHalvesRunFarApart) {
  model::RunRequest request = {.shape = tiny(), .batch = {.sequences = 2, .microbatches = 3}};
  request.shape.hidden_dropout = request.shape.attention_dropout = 0.2;
  std::vector<std::vector<float>> gradients;
  for (const char* order :
       {"0F0 0B0 0F1 0B1 0F2 0B2 step", "0F0 0I0 0F1 0I1 0W0 0F2 0I2 0W1 0W2 step",
        "0F0 0F1 0F2 0I0 0I1 0I2 0W0 0W1 0W2 step"}) {
    request.order =
        schedule::parse_pipeline(format("trireme-schedule 1 microbatches 3 chunks 1\n{}\n", order));
    for (const auto form : {model::AttentionForm::recomputed, model::AttentionForm::stored}) {
      request.shape.attention = form;
      Rank0 rank(request);
      rank.step(100, 1);
      rank.step(106, 2);
      std::vector<float>& all = gradients.emplace_back();
      for (int i = 0; i < rank.session.plan().table.size(); ++i) {
        const auto one = rank.read(TensorId{i}, TensorState::gradient);
        all.insert(all.end(), one.begin(), one.end());
      }
    }
  }
  for (size_t i = 2; i < gradients.size(); ++i) EXPECT_EQ(gradients[i], gradients[i % 2]) << i;
}

TEST(Session, EvaluatesToTheTrainingLossWithoutDropout) {
  model::GptShape shape = tiny();
  shape.hidden_dropout = shape.attention_dropout = 0;
  Rank0 rank({.shape = shape, .batch = {.sequences = 2, .microbatches = 1}, .evaluate = true});
  rank.write_batch(MicrobatchId{0}, 5);
  rank.session.set_scalar(StepScalar::loss_total, 0.0);
  rank.evaluate();
  const double evaluated = rank.session.scalar<double>(StepScalar::loss_total);
  EXPECT_DOUBLE_EQ(evaluated / 16, rank.step(5, 1));
}

TEST(Session, DecodesTheLogitsThatTheWholeSequenceHas) {
  // Feed a sequence token by token; the loss of its labels under the decoded logits is the
  // evaluation loss.
  model::GptShape shape = tiny();
  Rank0 whole({.shape = shape, .batch = {.sequences = 2}, .train = false, .evaluate = true});
  Rank0 stepwise({.shape = shape, .train = false, .decode = {.capacity = 8, .places = 2}});
  whole.write_batch(MicrobatchId{0}, 3);
  whole.evaluate();
  std::vector<float> losses(16);
  std::vector<float> target(16);
  whole.session.read_losses(losses);
  whole.session.read_target(target);

  double loss = 0;
  std::vector<float> logits(2 * 37);
  const std::vector<int64_t> samples = {0, 0};
  for (int32_t at = 0; at < 8; ++at) {
    const auto token = [&](int64_t i, int64_t j) {
      return static_cast<int32_t>((i * 5 + (3 + j) * 11) % 37);
    };
    const std::vector<int32_t> tokens = {token(at, 0), token(at, 1)};
    const std::vector<int32_t> positions = {at, at};
    const std::vector<int32_t> places = {0, 1};
    stepwise.session.write_field<int32_t>(BatchField::tokens, MicrobatchId{0}, tokens);
    stepwise.session.write_field<int32_t>(BatchField::positions, MicrobatchId{0}, positions);
    stepwise.session.write_field<int32_t>(BatchField::places, MicrobatchId{0}, places);
    stepwise.session.write_field<int64_t>(BatchField::samples, MicrobatchId{0}, samples);
    stepwise.session.decode(logits);
    for (int64_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (int64_t v = 0; v < 37; ++v)
        sum += std::exp(static_cast<double>(logits[static_cast<size_t>(j * 37 + v)]));
      const auto row = std::span(logits).subspan(static_cast<size_t>(j * 37), 37);
      const float label = row[static_cast<size_t>(token(at + 1, j))];
      const auto i = static_cast<size_t>(at * 2 + j);
      loss += std::log(sum) - double{label};
      EXPECT_NEAR(losses[i], std::log(sum) - double{label}, 1e-5);
      EXPECT_NEAR(target[i], label - *std::max_element(row.begin(), row.end()), 1e-5);
    }
  }
  EXPECT_NEAR(std::accumulate(losses.begin(), losses.end(), 0.0), loss, 1e-4);
  EXPECT_NEAR(loss, whole.session.scalar<double>(StepScalar::loss_total), 1e-4);
}

TEST(Session, SaysOfEachTokenWhetherItsLabelIsTheLikeliest) {
  // With each word in turn as the label, one of them has nothing above it and the least loss.
  Rank0 rank({.shape = tiny(), .batch = {.sequences = 2}, .train = false, .evaluate = true});
  std::vector<int> likeliest(16, 0);
  std::vector<double> probability(16, 0);
  std::vector<float> losses(16);
  std::vector<float> target(16);
  for (int32_t word = 0; word < 37; ++word) {
    rank.write_batch(MicrobatchId{0}, 3);
    rank.session.write_field<int32_t>(BatchField::labels, MicrobatchId{0},
                                      std::vector<int32_t>(16, word));
    rank.evaluate();
    rank.session.read_losses(losses);
    rank.session.read_target(target);
    for (size_t i = 0; i < 16; ++i) {
      EXPECT_LE(target[i], 0);
      likeliest[i] += target[i] == 0 ? 1 : 0;
      probability[i] += std::exp(-double{losses[i]});
    }
  }
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(likeliest[i], 1);
    EXPECT_NEAR(probability[i], 1, 1e-6);
  }
}

TEST(Session, EvaluatesTheMicrobatchesOfABatchOneByOne) {
  const model::RunRequest request = {
      .shape = tiny(), .batch = {.sequences = 2, .microbatches = 3}, .evaluate = true};
  Rank0 rank(request);
  EXPECT_EQ(rank.session.plan().evaluation->schedule, schedule::forward_only({.microbatches = 3}));
  rank.evaluate(10);
  const double together = rank.session.scalar<double>(StepScalar::loss_total);
  double apart = 0;
  for (const int64_t sample : {10, 12, 14}) {
    Rank0 one({.shape = tiny(), .batch = {.sequences = 2}, .train = false, .evaluate = true});
    one.evaluate(sample);
    apart += one.session.scalar<double>(StepScalar::loss_total);
  }
  EXPECT_DOUBLE_EQ(together, apart);
  // Training goes on behind it as if it had not been.
  Rank0 other(request);
  EXPECT_EQ(rank.step(20, 1), other.step(20, 1));
}

TEST(Session, RefusesAPlanLargerThanTheMemoryWithTheTable) {
  model::GptShape shape = {.layers = 96,
                           .hidden = 12288,
                           .heads = 96,
                           .ffn = 4 * 12288,
                           .length = 2048,
                           .positions = 2048,
                           .vocabulary = 51200};
  try {
    Rank0 rank({.shape = shape});
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("first moments"), std::string::npos) << message;
    EXPECT_NE(message.find("--micro-batch-size"), std::string::npos) << message;
  }
}

TEST(InitialValues, OfSlicesAreThoseOfTheWhole) {
  const parallel::Topology whole_topology;
  const parallel::Topology cut_topology(1, 2, 1);
  const auto whole_table = model::gpt_tensors(tiny(), whole_topology);
  const auto cut_table = model::gpt_tensors(tiny(), cut_topology);
  ThreadPool pool(1);
  for (int i = 0; i < whole_table.size(); ++i) {
    const TensorId id{i};
    const auto& tensor = whole_table[id];
    const auto whole_slice = whole_table.slice(id, whole_topology, {});
    std::vector<float> whole(static_cast<size_t>(tensor.shape.elements()));
    initial_values(tensor, whole_slice, 3, pool, whole);
    for (int t = 0; t < 2; ++t) {
      const auto slice = cut_table.slice(id, cut_topology, {.tensor = t});
      std::vector<float> part(static_cast<size_t>(slice.extent.elements()));
      initial_values(cut_table[id], slice, 3, pool, part);
      const int64_t columns = tensor.shape.rank() > 1 ? slice.extent[1] : 1;
      const int64_t width = tensor.shape.rank() > 1 ? tensor.shape[1] : 1;
      const int64_t first_column = tensor.shape.rank() > 1 ? slice.offset[1] : 0;
      for (size_t e = 0; e < part.size(); ++e) {
        const auto row = slice.offset[0] + static_cast<int64_t>(e) / columns;
        const auto column = first_column + static_cast<int64_t>(e) % columns;
        ASSERT_EQ(part[e], whole[static_cast<size_t>(row * width + column)]) << tensor.name;
      }
    }
  }
}

}  // namespace
}  // namespace trireme::engine
