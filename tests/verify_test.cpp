// `trireme verify` over cuts of a small model: silent where the run is sound, and right about where
// it is wrong.

#include <gtest/gtest.h>

#include "engine/initialise.h"
#include "verify_run.h"

namespace trireme {
namespace {

using schedule::ScheduleKind;
using train::Comparison;
using train::Quantity;

// Nothing is out, and no tolerance is so tight that it nearly was.
train::VerifyReport expect_sound(const Model& model, const Cut& cut) {
  train::VerifyReport report = verify(model, cut);
  EXPECT_TRUE(report.is_sound()) << cut.text() << "\n" << report.text(12);
  double largest = 0;
  for (const Comparison& one : report.comparisons) largest = std::max(largest, one.ratio());
  EXPECT_LT(largest, 0.5) << cut.text() << "\n" << report.text(5);
  return report;
}

bool has(const train::VerifyReport& report, Quantity quantity, const std::string& name) {
  return std::any_of(
      report.comparisons.begin(), report.comparisons.end(),
      [&](const Comparison& one) { return one.quantity == quantity && one.name == name; });
}

TEST(Verify, FindsNothingInSoundCuts) {
  const Model model;
  for (const Cut& cut :
       {Cut{.t = 2}, Cut{.t = 4}, Cut{.d = 2}, Cut{.d = 8}, Cut{.p = 2, .t = 2, .d = 2},
        Cut{.p = 2, .t = 4}, Cut{.p = 2, .t = 2, .d = 2, .v = 2, .scatter_gather = true},
        Cut{.p = 4, .d = 2, .kind = ScheduleKind::gpipe},
        Cut{.p = 2, .d = 2, .rank_order = parallel::RankOrder::tensor_pipeline_data},
        Cut{.p = 2, .d = 2, .reduction = {.overlap = false}},
        Cut{.p = 2, .d = 2, .reduction = {.bucket_elements = 1000}}})
    expect_sound(model, cut);
}

TEST(Verify, FindsTheSameBitsWhereTheyArePromised) {
  const Model model;
  for (const Cut& cut : {Cut{}, Cut{.threads = 2}, Cut{.p = 2}, Cut{.p = 4}, Cut{.p = 2, .v = 2},
                         Cut{.p = 2, .kind = ScheduleKind::gpipe}}) {
    for (const Comparison& one : expect_sound(model, cut).comparisons) {
      EXPECT_EQ(one.tolerance, 0) << one.name;
      EXPECT_EQ(one.different, 0) << one.name;
    }
  }
  // Data ranks change the order in which microbatches are added, and nothing inside of one; nor
  // does an update from the same gradients.
  for (const Comparison& one : expect_sound(model, {.p = 2, .d = 2}).comparisons) {
    const bool same = one.quantity <= Quantity::forward || one.quantity == Quantity::backward ||
                      one.quantity == Quantity::update;
    EXPECT_EQ(one.tolerance == 0, same) << name_of(one.quantity) << " of " << one.name;
  }
}

TEST(Verify, FindsNothingInModelsOfOtherKinds) {
  const Cut cut = {.p = 2, .t = 2, .d = 2};
  Model untied;
  untied.shape.tied_embeddings = false;
  expect_sound(untied, cut);

  Model odd;  // 3 heads of 7, 61 words over 2 ranks of 32 rows, 5 layers
  odd.shape.layers = 5;
  odd.shape.hidden = 42;
  odd.shape.heads = 6;
  odd.shape.ffn = 90;
  odd.shape.vocabulary_granule = 1;
  odd.micro_batch = 3;
  odd.global_batch = 18;
  expect_sound(odd, {.p = 2, .t = 2, .d = 2, .layout = parallel::parse_layout("Ett|tttL", 5, 2)});
  expect_sound(odd, {.p = 1, .t = 3, .d = 2});

  Model sure;
  sure.shape.hidden_dropout = 0;
  sure.shape.attention_dropout = 0;
  sure.shape.attention = model::AttentionForm::stored;
  expect_sound(sure, cut);

  Model growing;
  growing.ramp_up = {4};
  growing.steps = 3;
  expect_sound(growing, cut);
}

TEST(Verify, ComparesEveryTensorInEveryWay) {
  const Model model;
  const train::VerifyReport report = verify(model, {.p = 2, .t = 2, .d = 2});
  const parallel::TensorTable table = model::gpt_tensors(model.shape, {});
  for (const parallel::Tensor& tensor : table.tensors()) {
    for (const Quantity quantity : {Quantity::start, Quantity::gradient, Quantity::first_moment,
                                    Quantity::second_moment, Quantity::update})
      EXPECT_TRUE(has(report, quantity, tensor.name)) << name_of(quantity) << " " << tensor.name;
  }
  for (const Comparison& one : report.comparisons) {
    // Nothing is compared where nothing is: all tensors have gradients, and move.
    if (one.step > 0) {
      EXPECT_GT(one.scale, 0) << name_of(one.quantity) << " of " << one.name;
    }
    if (one.quantity != Quantity::gradient || one.name != "embedding.word_embeddings.weight")
      continue;
    EXPECT_EQ(one.elements, 2 * kWords * model.shape.hidden) << "of two data ranks";
  }
  EXPECT_TRUE(has(report, Quantity::forward, "decoder.layers.3.mlp.y"));
  EXPECT_TRUE(has(report, Quantity::backward, "embedding.de"));
}

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

// A group whose members hear nothing of each other.
class Deaf final : public comm::Communicator {
 public:
  Deaf(int rank, int size) : rank_(rank), size_(size) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] comm::Request start(device::Stream&, const comm::Exchange&) override { return {}; }
  void progress() override {}
  void wait(comm::Request, device::Stream&) override {}
  void withdraw() noexcept override {}
  [[nodiscard]] comm::BytesSent bytes_sent() const override { return {}; }

 private:
  int rank_;
  int size_;
};

// A fault that makes one group of every rank deaf. Used once per rank's thread.
Fault deaf(RankGroup group) {
  return {.groups = [group](const engine::Groups& groups) {
    thread_local std::unique_ptr<Deaf> communicator;
    communicator = std::make_unique<Deaf>(groups[group].rank(), groups[group].size());
    std::array<comm::Communicator*, kRankGroups> all = {};
    for (size_t g = 0; g < kRankGroups; ++g) all[g] = &groups[static_cast<RankGroup>(g)];
    all[static_cast<size_t>(group)] = communicator.get();
    return engine::Groups(all);
  }};
}

TEST(Verify, NamesTheTiedTensorWhoseGradientsAreNotAdded) {
  expect_first_out({.p = 2}, deaf(RankGroup::tied), Quantity::gradient,
                   "embedding.word_embeddings.weight");
}

TEST(Verify, NamesTheGradientThatIsNotReducedOverTheDataRanks) {
  // The one that the backward completes first.
  expect_first_out({.p = 2, .d = 2}, deaf(RankGroup::data), Quantity::gradient,
                   "decoder.final_layernorm.bias");
}

TEST(Verify, NamesTheNormThatIsOfOneRankAlone) {
  expect_first_out({.p = 2}, deaf(RankGroup::model), Quantity::gradient_norm, "gradient norm");
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

TEST(Verify, NamesTheTensorThatTheOptimizerTreatsOtherwise) {
  const ops::KernelTable stale = with<program::AdamW>(forget_positions);
  expect_first_out({.p = 2, .t = 2}, {.kernels = &stale}, Quantity::first_moment,
                   "embedding.position_embeddings.weight");
  const ops::KernelTable without_decay = with<program::AdamW>(decay_nothing);
  expect_first_out({.p = 2, .t = 2}, {.kernels = &without_decay}, Quantity::update,
                   "embedding.position_embeddings.weight");
}

TEST(Verify, NamesTheTensorThatStartsWithTheSliceOfAnotherRank) {
  const Fault fault = {.start = [](engine::Session& session) {
    const model::RunPlan& plan = session.plan();
    const TensorId id = *plan.table.find("decoder.layers.2.mlp.linear_fc1.weight");
    if (plan.topology.tensor() == 1 || !plan.local.holds(id) || plan.at.tensor == 0) return;
    device::CpuDevice cpu(1);
    parallel::Coordinates other = plan.at;
    other.tensor = 0;
    std::vector<float> values(static_cast<size_t>(session.slice_elements(id)));
    engine::initial_values(plan.table[id], plan.table.slice(id, plan.topology, other), kSeed,
                           cpu.pool(), values);
    session.write_tensor(id, TensorState::parameter, values);
  }};
  expect_first_out({.p = 2, .t = 2}, fault, Quantity::start,
                   "decoder.layers.2.mlp.linear_fc1.weight", "", 0);
}

}  // namespace
}  // namespace trireme
