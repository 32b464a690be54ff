#pragma once
// Runs of the trainer cut over ranks that are threads, for tests that compare cuts.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/local/run.h"
#include "core/format.h"
#include "device/cpu/cpu_device.h"
#include "engine/groups.h"
#include "test_run.h"

namespace trireme {

inline constexpr double kRate = 3e-3;  ///< the largest learning rate

/// How a run is cut, and what must not matter.
struct Cut {
  int p = 1;
  int t = 1;
  int d = 1;
  int v = 1;
  parallel::RankOrder rank_order = parallel::RankOrder::tensor_data_pipeline;
  std::optional<schedule::ScheduleKind> kind = {};
  int group = 0;
  std::optional<schedule::Pipeline> order = {};
  std::optional<parallel::Layout> layout = {};
  bool scatter_gather = false;
  model::ReductionRules reduction = {};
  int threads = 1;

  [[nodiscard]] int ranks() const { return p * t * d; }
  [[nodiscard]] std::string text() const {
    constexpr std::array<const char*, 4> kKinds = {"gpipe", "1f1b", "interleaved", "forward only"};
    std::string text = format("p {} t {} d {} v {}", p, t, d, v);
    if (layout) text += format(", {}", layout->text());
    if (kind) text += format(", {}", kKinds[static_cast<size_t>(*kind)]);
    if (group > 0) text += format(", groups of {}", group);
    if (order) text += ", an order of its own";
    if (scatter_gather) text += ", scatter/gather";
    if (!reduction.overlap) text += ", no overlap";
    text += format(", buckets of {}", reduction.bucket_elements);
    if (rank_order == parallel::RankOrder::tensor_pipeline_data) text += ", t p d";
    if (threads > 1) text += format(", {} threads", threads);
    return text;
  }
};

/// The model and the batch, equal for all cuts.
struct Model {
  model::GptShape shape = {.layers = 4,
                           .hidden = 32,
                           .heads = 4,
                           .ffn = 128,
                           .length = kLength,
                           .positions = kLength,
                           .vocabulary = kWords,
                           .vocabulary_granule = 4,
                           .hidden_dropout = 0.1,
                           .attention_dropout = 0.1};
  int64_t global_batch = 8;
  int64_t micro_batch = 1;
  bool documents = false;  ///< samples are cut into documents that differ; their ends have no loss
  std::vector<int64_t> ramp_up = {};  ///< sizes of the first batches, one step each
  int steps = 2;
};

/// Whole tensors, by name and state.
using Tensors = std::map<std::pair<std::string, engine::TensorState>, std::vector<float>>;

/// What a run came to.
struct Result {
  std::vector<double> losses;
  std::vector<double> norms;
  std::optional<double> evaluated;  ///< of some held-out samples, behind the steps
  Tensors first;                    ///< gradients and moments behind the first step
  Tensors tensors;                  ///< everything behind the last
  comm::BytesSent sent;             ///< of all ranks
  model::WireBytes sent_by_group;
  model::WireBytes planned;

  bool operator==(const Result& other) const {
    return losses == other.losses && norms == other.norms && evaluated == other.evaluated &&
           first == other.first && tensors == other.tensors;
  }
};

inline model::RunRequest request_of(const Model& model, const Cut& cut, int rank) {
  const parallel::Topology topology(cut.p, cut.t, cut.d, cut.rank_order);
  const auto microbatches = [&](int64_t batch) {
    return static_cast<int>(batch / model.micro_batch / cut.d);
  };
  std::vector<int> smaller;
  for (const int64_t batch : model.ramp_up) smaller.push_back(microbatches(batch));
  return {
      .shape = model.shape,
      .batch = {.sequences = model.micro_batch, .microbatches = microbatches(model.global_batch)},
      .smaller_batches = smaller,
      .topology = topology,
      .at = topology.coordinates(Rank{rank}),
      .layout = cut.layout ? *cut.layout : parallel::equal_layout(model.shape.layers, cut.p, cut.v),
      .kind = cut.kind,
      .group = cut.group,
      .order = cut.order,
      .reduction = cut.reduction,
      .scatter_gather = cut.scatter_gather,
      .optimizer = {.weight_decay = 0.1},
      .profile = {.threads = cut.threads},
      .evaluate = true};
}

inline train::BatchCourse course_of(const Model& model) {
  if (model.ramp_up.empty()) return train::BatchCourse::constant(model.global_batch);
  return train::BatchCourse::ramp_up(model.ramp_up.front(),
                                     model.global_batch - model.ramp_up.front(),
                                     model.ramp_up.front(), model.global_batch);
}

/// Puts a rank's slice of a tensor into the whole one. What another rank put there already is the
/// same, bit by bit.
inline void put_slice(const parallel::Tensor& tensor, const parallel::Slice& slice,
                      const std::vector<float>& values, std::vector<float>& whole) {
  whole.resize(static_cast<size_t>(tensor.shape.elements()),
               std::numeric_limits<float>::quiet_NaN());
  const int rank = tensor.shape.rank();
  const int64_t columns = rank == 2 ? tensor.shape[1] : tensor.shape[0];
  const int64_t width = slice.extent[rank - 1];
  const int64_t rows = rank == 2 ? slice.extent[0] : 1;
  const int64_t first_row = rank == 2 ? slice.offset[0] : 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < width; ++column) {
      const float value = values[static_cast<size_t>(row * width + column)];
      float& there =
          whole[static_cast<size_t>((first_row + row) * columns + slice.offset[rank - 1] + column)];
      if (!std::isnan(there) && there != value)
        throw std::logic_error("ranks hold different copies of " + tensor.name);
      there = value;
    }
  }
}

/// A rank at work, for what a test wants to do with it.
struct RankRun {
  /// source: of the samples; by default sequences that can be learnt.
  RankRun(comm::Port& its_port, const Model& model, const Cut& cut,
          const ops::KernelTable& kernels = ops::cpu_kernels(),
          std::shared_ptr<const data::SampleSource> source = nullptr)
      : port(its_port),
        device(cut.threads),
        groups(port, parallel::Topology(cut.p, cut.t, cut.d, cut.rank_order)),
        batches(std::make_shared<const data::Batches>(
            source ? std::move(source)
                   : std::make_shared<RuleSamples>(model.shape.length, model.shape.vocabulary),
            data::BatchRules{.vocab_size = model.shape.vocabulary,
                             .eod = 5,
                             .reset_position_ids = model.documents,
                             .reset_attention_mask = model.documents,
                             .eod_mask_loss = model.documents})),
        session(model::plan_run(request_of(model, cut, port.rank())),
                {.device = &device, .kernels = &kernels, .profile = {.threads = cut.threads}},
                groups.all()),
        trainer(session, batches, course_of(model),
                {.style = config::LrDecayStyle::cosine,
                 .most = kRate,
                 .least = 1e-4,
                 .warmup_samples = 8,
                 .decay_samples = 400},
                kSeed) {
    device.pool().between_tasks([this] { port.world().progress(); });
    train::initialise_weights(session, kSeed, device.pool());
  }

  comm::Port& port;
  device::CpuDevice device;
  engine::RankGroups groups;
  std::shared_ptr<const data::Batches> batches;
  engine::Session session;
  train::Trainer trainer;
};

/// Puts what this rank holds of some states into whole tensors.
inline void put_tensors(engine::Session& session, const std::vector<engine::TensorState>& states,
                        Tensors& whole) {
  const model::RunPlan& plan = session.plan();
  for (int i = 0; i < plan.table.size(); ++i) {
    const TensorId id{i};
    if (!plan.local.holds(id) || plan.local[id].alias) continue;
    // The other holder of a tied tensor has the same.
    const parallel::Tensor& tensor = plan.table[plan.table[id].tied_to.value_or(id)];
    for (const engine::TensorState state : states) {
      std::vector<float> values(static_cast<size_t>(session.slice_elements(id)));
      session.read_tensor(id, state, values);
      put_slice(tensor, plan.local[id].slice, values, whole[{tensor.name, state}]);
    }
  }
}

/// Runs the model's steps, and looks at everything behind them.
inline Result run(const Model& model, const Cut& cut, comm::LocalRun local = {}) {
  local.ranks = cut.ranks();
  if (local.patience.limit == comm::Patience().limit)
    local.patience.limit = std::chrono::seconds(120);
  Result result;
  std::mutex mutex;
  comm::run_ranks(local, [&](comm::Port& port) {
    RankRun rank(port, model, cut);
    std::vector<double> losses;
    std::vector<double> norms;
    for (int step = 0; step < model.steps; ++step) {
      const train::StepReport report = rank.trainer.step();
      losses.push_back(report.loss);
      norms.push_back(report.gradient_norm);
      if (step > 0) continue;
      const std::lock_guard lock(mutex);
      put_tensors(rank.session,
                  {TensorState::gradient, TensorState::first_moment, TensorState::second_moment},
                  result.first);
    }
    const double evaluated =
        train::evaluate_loss(rank.session, rank.batches, 500, model.global_batch);
    const std::lock_guard lock(mutex);
    // Every rank tells the same.
    if (result.losses.empty()) {
      result.losses = losses;
      result.norms = norms;
      result.evaluated = evaluated;
    }
    if (losses != result.losses || norms != result.norms || evaluated != *result.evaluated)
      throw std::logic_error("ranks tell different numbers");
    for (size_t g = 0; g < kRankGroups; ++g)
      result.sent += rank.groups.all()[static_cast<RankGroup>(g)].bytes_sent();
    put_tensors(rank.session,
                {TensorState::parameter, TensorState::gradient, TensorState::first_moment,
                 TensorState::second_moment},
                result.tensors);
    result.sent_by_group += rank.session.bytes_sent();
    result.planned += rank.session.bytes_planned();
  });
  return result;
}

}  // namespace trireme
