// `trireme verify` over wrong runs: right about what is wrong, each fault of docs/verify.md.

#include <gtest/gtest.h>

#include "engine/initialise.h"
#include "verify_run.h"

namespace trireme {
namespace {

using engine::TensorState;
using train::Comparison;
using train::Quantity;

// Kernels of the CPU with one that does something else.
template <class Spec>
ops::KernelTable with(ops::Kernel kernel) {
  ops::KernelTable table = ops::cpu_kernels();
  table.kernels[program::OpSpec(Spec{}).index()] = kernel;
  return table;
}

template <class Spec>
void run_sound(device::Stream& stream, const Spec& op, const ops::Arguments& arguments) {
  ops::cpu_kernels()[program::OpSpec(op)](stream, program::OpSpec(op), arguments);
}

// The arguments with another one of the operands.
struct Replaced {
  Replaced(const ops::Arguments& from, int operand, void* other)
      : operands(from.operands.begin(), from.operands.end()), arguments(from) {
    operands[static_cast<size_t>(operand)] = other;
    arguments.operands = operands;
  }
  std::vector<void*> operands;
  ops::Arguments arguments;
};

void expect_first_out(const Cut& cut, const Fault& fault, Quantity quantity,
                      const std::string& name, const std::string& op = "", int step = 1) {
  const train::VerifyReport report = verify(Model(), cut, fault);
  const Comparison* first = report.first_out();
  ASSERT_NE(first, nullptr) << cut.text() << "\n" << report.text(5);
  EXPECT_EQ(first->quantity, quantity) << report.text(5);
  EXPECT_EQ(first->name, name) << report.text(5);
  EXPECT_EQ(first->op, op) << report.text(5);
  EXPECT_EQ(first->step, step);
  EXPECT_NE(report.text(5).find(name), std::string::npos);
}

// The gradient of the logits is for one microbatch, not for the batch.
void forget_one_over_m(device::Stream& stream, const program::OpSpec& spec,
                       const ops::Arguments& arguments) {
  const auto& op = std::get<program::CrossEntropy>(spec);
  float scale = *arguments.pointer<const float>(op.kGradientScale) * 4;
  run_sound(stream, op, Replaced(arguments, op.kGradientScale, &scale).arguments);
}

TEST(Verify, NamesTheLogitsWhereOneOverMIsForgotten) {
  const ops::KernelTable table = with<program::CrossEntropy>(forget_one_over_m);
  // Their gradient is written over them. Cut over tensor ranks they are nowhere whole, and the
  // first that is whole is the gradient of what they are made from.
  expect_first_out({.p = 2, .d = 2}, {.kernels = &table}, Quantity::forward, "head.logits",
                   "cross_entropy");
  expect_first_out({.p = 2, .t = 2}, {.kernels = &table}, Quantity::backward, "head.du",
                   "product_dx with output_layer.weight, joined over the group");
}

// In one place: behind the MLP of layer 1.
void add_bias_t_times(device::Stream& stream, const program::OpSpec& spec,
                      const ops::Arguments& arguments) {
  const auto& op = std::get<program::BiasDropoutAdd>(spec);
  const float* bias = arguments.pointer<const float>(op.kBias);
  std::vector<float> sum(bias, bias + op.hidden);
  if (op.dropout.site == RandomSite::mlp_dropout && arguments.layer == 1)
    for (float& value : sum) value *= 2;
  run_sound(stream, op, Replaced(arguments, op.kBias, sum.data()).arguments);
}

TEST(Verify, NamesTheBiasThatIsAddedOnEveryTensorRank) {
  const ops::KernelTable table = with<program::BiasDropoutAdd>(add_bias_t_times);
  expect_first_out({.p = 2, .t = 2}, {.kernels = &table}, Quantity::forward,
                   "decoder.layers.1.mlp.y",
                   "bias_dropout_add with decoder.layers.1.mlp.linear_fc2.bias");
}

// Each data rank counts its samples from zero.
void drop_by_rank(device::Stream& stream, const program::OpSpec& spec,
                  const ops::Arguments& arguments) {
  const auto& op = std::get<program::PositionDropout>(spec);
  const int64_t* samples = arguments.pointer<const int64_t>(op.kSamples);
  std::vector<int64_t> shifted(samples, samples + op.sequences);
  for (int64_t& sample : shifted) sample -= planted_at.data;
  run_sound(stream, op, Replaced(arguments, op.kSamples, shifted.data()).arguments);
}

// Each tensor rank counts its heads from zero.
void drop_by_own_head(device::Stream& stream, const program::OpSpec& spec,
                      const ops::Arguments& arguments) {
  auto op = std::get<program::Attention>(spec);
  op.first_head = 0;
  run_sound(stream, op, arguments);
}

TEST(Verify, NamesTheDropoutThatIsKeyedByRank) {
  const ops::KernelTable embedding = with<program::PositionDropout>(drop_by_rank);
  expect_first_out({.p = 2, .d = 2}, {.kernels = &embedding}, Quantity::forward, "embedding.y",
                   "position_dropout with embedding.position_embeddings.weight");
  // A head's context is on its rank alone; behind the projection it is whole.
  const ops::KernelTable attention = with<program::Attention>(drop_by_own_head);
  expect_first_out({.t = 2}, {.kernels = &attention}, Quantity::forward,
                   "decoder.layers.0.attention.o",
                   "product with decoder.layers.0.self_attention.linear_proj.weight, joined over "
                   "the group");
}

// A group with something wrong between its members.
class Wrong : public comm::Communicator {
 public:
  explicit Wrong(comm::Communicator& inner) : inner_(inner) {}
  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] int size() const override { return inner_.size(); }
  [[nodiscard]] comm::Request start(device::Stream& stream,
                                    const comm::Exchange& exchange) override {
    return inner_.start(stream, exchange);
  }
  void progress() override { inner_.progress(); }
  void wait(comm::Request request, device::Stream& stream) override {
    inner_.wait(request, stream);
  }
  void withdraw() noexcept override { inner_.withdraw(); }
  [[nodiscard]] comm::BytesSent bytes_sent() const override { return inner_.bytes_sent(); }

 private:
  comm::Communicator& inner_;
};

// A fault in one group of every rank.
template <class Communicator>
Fault in(RankGroup group) {
  return {.groups = [group](const engine::Groups& groups) {
    thread_local std::unique_ptr<Communicator> communicator;  // of a rank
    communicator = std::make_unique<Communicator>(groups[group]);
    std::array<comm::Communicator*, kRankGroups> all = {};
    for (size_t g = 0; g < kRankGroups; ++g) all[g] = &groups[static_cast<RankGroup>(g)];
    all[static_cast<size_t>(group)] = communicator.get();
    return engine::Groups(all);
  }};
}

// Its members hear nothing of each other.
class Deaf final : public Wrong {
 public:
  using Wrong::Wrong;
  [[nodiscard]] comm::Request start(device::Stream&, const comm::Exchange&) override { return {}; }
};

TEST(Verify, NamesTheTiedTensorWhoseGradientsAreNotAdded) {
  expect_first_out({.p = 2}, in<Deaf>(RankGroup::tied), Quantity::gradient,
                   "embedding.word_embeddings.weight");
}

TEST(Verify, NamesTheGradientThatIsNotReducedOverTheDataRanks) {
  // The one that the backward completes first.
  expect_first_out({.p = 2, .d = 2}, in<Deaf>(RankGroup::data), Quantity::gradient,
                   "decoder.final_layernorm.bias");
}

TEST(Verify, NamesTheNormThatIsOfOneRankAlone) {
  expect_first_out({.p = 2}, in<Deaf>(RankGroup::model), Quantity::gradient_norm, "gradient norm");
}

// A stage takes the first microbatch's activations for the second one's.
class TakesAnotherMicrobatch final : public Wrong {
 public:
  using Wrong::Wrong;
  [[nodiscard]] comm::Request start(device::Stream& stream,
                                    const comm::Exchange& exchange) override {
    const comm::Request request = Wrong::start(stream, exchange);
    if (exchange.verb == comm::Verb::receive) received_[request.number] = exchange;
    return request;
  }
  void wait(comm::Request request, device::Stream& stream) override {
    Wrong::wait(request, stream);
    const auto found = received_.find(request.number);
    if (found == received_.end()) return;
    const comm::Exchange& exchange = found->second;
    if (exchange.what.text() == "0F0") first_ = {exchange.buffer, exchange.buffer + exchange.bytes};
    if (exchange.what.text() == "0F1") std::copy(first_.begin(), first_.end(), exchange.buffer);
    received_.erase(found);
  }

 private:
  std::map<uint64_t, comm::Exchange> received_;
  std::vector<std::byte> first_;
};

TEST(Verify, NamesTheFirstValueOfAStageThatGotTheMessageOfAnotherMicrobatch) {
  const Fault fault = in<TakesAnotherMicrobatch>(RankGroup::pipeline);
  expect_first_out({.p = 2}, fault, Quantity::forward, "decoder.layers.2.attention.mean",
                   "layer_norm with decoder.layers.2.input_layernorm.weight, "
                   "decoder.layers.2.input_layernorm.bias");
  EXPECT_EQ(verify(Model(), {.p = 2}, fault).first_out()->where,
            "rank 1 = p1 t0 d0, microbatch 1 of the batch");
}

// Of nine sums in each backward (head, then MLP and attention of four layers) the second is left
// out.
class ForgetsASum final : public Wrong {
 public:
  using Wrong::Wrong;
  [[nodiscard]] comm::Request start(device::Stream& stream,
                                    const comm::Exchange& exchange) override {
    if (exchange.traffic == comm::Traffic::gradient && gradients_++ % 9 == 1) return {};
    return Wrong::start(stream, exchange);
  }

 private:
  int gradients_ = 0;
};

TEST(Verify, NamesTheInputGradientThatIsNotSummedOverTheTensorRanks) {
  expect_first_out({.t = 2}, in<ForgetsASum>(RankGroup::tensor), Quantity::backward,
                   "decoder.layers.3.mlp.du",
                   "product_dx with decoder.layers.3.mlp.linear_fc1.weight, joined over the group");
}

// Of layer 1 without the gradient that goes past the MLP.
void forget_residual(device::Stream& stream, const program::OpSpec& spec,
                     const ops::Arguments& arguments) {
  const auto& op = std::get<program::LayerNormBackward>(spec);
  const std::vector<float> nothing(static_cast<size_t>(op.rows * op.columns));
  void* other = op.residual && arguments.layer == 1 ? const_cast<float*>(nothing.data())
                                                    : arguments.operands[op.kDresidual];
  run_sound(stream, op, Replaced(arguments, op.kDresidual, other).arguments);
}

TEST(Verify, NamesTheOpWhoseInputGradientIsWrong) {
  const ops::KernelTable table = with<program::LayerNormBackward>(forget_residual);
  expect_first_out({.p = 2, .t = 2}, {.kernels = &table}, Quantity::backward,
                   "decoder.layers.1.mlp.dx",
                   "layer_norm_backward with decoder.layers.1.pre_mlp_layernorm.weight");
}

// The first MLP matrix of layer 2 keeps the gradient of the last microbatch alone. Its rows are the
// only ones of their number.
void forget_sum_over_microbatches(device::Stream& stream, const program::OpSpec& spec,
                                  const ops::Arguments& arguments) {
  const auto& op = std::get<program::ProductWeightGradient>(spec);
  ops::Arguments overwriting = arguments;
  if (arguments.layer == 2 && op.out == Model().shape.ffn / 2) overwriting.accumulate = false;
  run_sound(stream, op, overwriting);
}

TEST(Verify, NamesTheWeightWhoseGradientIsOfOneMicrobatch) {
  const ops::KernelTable table = with<program::ProductWeightGradient>(forget_sum_over_microbatches);
  expect_first_out({.p = 2, .t = 2}, {.kernels = &table}, Quantity::gradient,
                   "decoder.layers.2.mlp.linear_fc1.weight");
}

// The position table is the only tensor of its size.
bool is_position_table(const program::AdamW& op) {
  return op.elements == Model().shape.positions * Model().shape.hidden;
}

void forget_positions(device::Stream& stream, const program::OpSpec& spec,
                      const ops::Arguments& arguments) {
  const auto& op = std::get<program::AdamW>(spec);
  if (!is_position_table(op)) run_sound(stream, op, arguments);
}

void decay_nothing(device::Stream& stream, const program::OpSpec& spec,
                   const ops::Arguments& arguments) {
  auto op = std::get<program::AdamW>(spec);
  if (is_position_table(op)) op.decay = 0;
  run_sound(stream, op, arguments);
}

void count_steps_from_two(device::Stream& stream, const program::OpSpec& spec,
                          const ops::Arguments& arguments) {
  const auto& op = std::get<program::AdamW>(spec);
  int64_t step = *arguments.pointer<const int64_t>(op.kStep) + (is_position_table(op) ? 1 : 0);
  run_sound(stream, op, Replaced(arguments, op.kStep, &step).arguments);
}

TEST(Verify, NamesTheTensorThatTheOptimizerTreatsOtherwise) {
  const ops::KernelTable stale = with<program::AdamW>(forget_positions);
  expect_first_out({.p = 2, .t = 2}, {.kernels = &stale}, Quantity::first_moment,
                   "embedding.position_embeddings.weight");
  const ops::KernelTable without_decay = with<program::AdamW>(decay_nothing);
  expect_first_out({.p = 2, .t = 2}, {.kernels = &without_decay}, Quantity::update,
                   "embedding.position_embeddings.weight");
  const ops::KernelTable ahead = with<program::AdamW>(count_steps_from_two);
  expect_first_out({.p = 2, .t = 2}, {.kernels = &ahead}, Quantity::update,
                   "embedding.position_embeddings.weight");
}

// Loads a state of a tensor as if its rank were the first of the tensor group.
Fault loads_slice_of_another_rank(TensorState state) {
  return {.start = [state](engine::Session& session) {
    const model::RunPlan& plan = session.plan();
    const TensorId id = *plan.table.find("decoder.layers.2.mlp.linear_fc1.weight");
    if (!plan.local.holds(id)) return;
    // A checkpoint's; its numbers tell where they are.
    device::CpuDevice cpu(1);
    parallel::Coordinates at = plan.at;
    if (plan.topology.tensor() > 1) at.tensor = 0;
    std::vector<float> values(static_cast<size_t>(session.slice_elements(id)));
    engine::initial_values(plan.table[id], plan.table.slice(id, plan.topology, at), kSeed,
                           cpu.pool(), values);
    // As good for any state.
    for (float& value : values) value = std::abs(value);
    session.write_tensor(id, state, values);
  }};
}

TEST(Verify, NamesTheTensorThatIsLoadedWrongly) {
  const std::string name = "decoder.layers.2.mlp.linear_fc1.weight";
  for (const auto& [state, suffix] : {std::pair(TensorState::parameter, ""),
                                      std::pair(TensorState::first_moment, ", first moment"),
                                      std::pair(TensorState::second_moment, ", second moment")})
    expect_first_out({.p = 2, .t = 2}, loads_slice_of_another_rank(state), Quantity::start,
                     name + suffix, "", 0);
}

}  // namespace
}  // namespace trireme
