#pragma once
// Runs of the trainer cut over ranks that are threads, for tests that compare cuts.

#include <algorithm>
#include <array>
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
    return format("p {} t {} d {} v {}{}{}{}", p, t, d, v,
                  kind ? format(" kind {}", static_cast<int>(*kind)) : "",
                  scatter_gather ? " scatter/gather" : "", reduction.overlap ? "" : " no overlap");
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
  std::vector<int64_t> ramp_up = {};  ///< sizes of the first batches, one step each
  int steps = 2;
};

/// What a run came to. Tensors are whole, by name and state.
struct Result {
  std::vector<double> losses;
  std::vector<double> norms;
  std::optional<double> evaluated;  ///< of some held-out samples, behind the steps
  std::map<std::pair<std::string, engine::TensorState>, std::vector<float>> tensors;
  comm::BytesSent sent;  ///< of all ranks
  model::WireBytes sent_by_group;
  model::WireBytes planned;

  bool operator==(const Result& other) const {
    return losses == other.losses && norms == other.norms && evaluated == other.evaluated &&
           tensors == other.tensors;
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

/// Puts a rank's slice of a tensor into the whole one.
inline void put_slice(const parallel::Tensor& tensor, const parallel::Slice& slice,
                      const std::vector<float>& values, std::vector<float>& whole) {
  whole.resize(static_cast<size_t>(tensor.shape.elements()));
  const int rank = tensor.shape.rank();
  const int64_t columns = rank == 2 ? tensor.shape[1] : tensor.shape[0];
  const int64_t width = slice.extent[rank - 1];
  const int64_t rows = rank == 2 ? slice.extent[0] : 1;
  const int64_t first_row = rank == 2 ? slice.offset[0] : 0;
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(values.begin() + row * width, width,
                whole.begin() + (first_row + row) * columns + slice.offset[rank - 1]);
  }
}

/// A rank at work, for what a test wants to do with it.
struct RankRun {
  RankRun(comm::Port& its_port, const Model& model, const Cut& cut)
      : port(its_port),
        device(cut.threads),
        groups(port, parallel::Topology(cut.p, cut.t, cut.d, cut.rank_order)),
        batches(std::make_shared<const data::Batches>(std::make_shared<RuleSamples>(),
                                                      data::BatchRules{.vocab_size = kWords})),
        session(model::plan_run(request_of(model, cut, port.rank())),
                {.device = &device,
                 .kernels = &ops::cpu_kernels(),
                 .profile = {.threads = cut.threads}},
                groups.all()),
        trainer(session, batches, course_of(model),
                {.style = config::LrDecayStyle::cosine,
                 .most = 3e-3,
                 .least = 1e-4,
                 .warmup_samples = 8,
                 .decay_samples = 400},
                kSeed) {
    train::initialise_weights(session, kSeed, device.pool());
  }

  comm::Port& port;
  device::CpuDevice device;
  engine::RankGroups groups;
  std::shared_ptr<const data::Batches> batches;
  engine::Session session;
  train::Trainer trainer;
};

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
    result.sent_by_group += rank.session.bytes_sent();
    result.planned += rank.session.bytes_planned();
    const model::RunPlan& plan = rank.session.plan();
    for (int i = 0; i < plan.table.size(); ++i) {
      const TensorId id{i};
      if (!plan.local.holds(id) || plan.table[id].tied_to) continue;
      for (const TensorState state : {TensorState::parameter, TensorState::gradient,
                                      TensorState::first_moment, TensorState::second_moment}) {
        std::vector<float> values(static_cast<size_t>(rank.session.slice_elements(id)));
        rank.session.read_tensor(id, state, values);
        put_slice(plan.table[id], plan.local[id].slice, values,
                  result.tensors[{plan.table[id].name, state}]);
      }
    }
  });
  return result;
}

}  // namespace trireme
