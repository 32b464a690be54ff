#include "train/cut.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/nearest_values.h"
#include "schedule/communication.h"
#include "schedule/text.h"
#include "schedule/validate.h"

namespace trireme::train {
namespace {

using schedule::PipelineShape;
using schedule::ScheduleKind;

// Of an option that says how many chunks a rank has.
int chunks_of(const config::PipelineOptions& options, int layers, int p) {
  if (options.num_virtual_stages_per_pipeline_rank)
    return static_cast<int>(*options.num_virtual_stages_per_pipeline_rank);
  if (options.num_layers_per_virtual_pipeline_stage) {
    return parallel::chunks_for(layers, p,
                                static_cast<int>(*options.num_layers_per_virtual_pipeline_stage));
  }
  return 1;
}

void require_several_stages(int p, int v) {
  if (v == 1 || p > 1) return;
  fail_usage({.where = "pipeline stages",
              .what = format("{} chunks per rank with --pipeline-model-parallel-size 1", v),
              .rule = "chunks fill the bubble of a pipeline, which has at least 2 stages",
              .remedy = "use --pipeline-model-parallel-size 2, or one chunk per rank"});
}

ScheduleKind kind_of(const config::PipelineOptions& options, int v) {
  using Choice = config::PipelineSchedule;
  if (!options.schedule)
    return v > 1 ? ScheduleKind::interleaved : ScheduleKind::one_forward_one_backward;
  switch (*options.schedule) {
    case Choice::gpipe:
      return ScheduleKind::gpipe;
    case Choice::one_forward_one_backward:
      if (v == 1) return ScheduleKind::one_forward_one_backward;
      fail_usage({.where = "schedule",
                  .what = format("--schedule 1f1b with {} chunks per rank", v),
                  .rule = "1F1B has one chunk per rank",
                  .remedy = "use --schedule interleaved or gpipe"});
    case Choice::interleaved:
      break;
  }
  if (v == 1) {
    fail_usage({.where = "schedule",
                .what = "--schedule interleaved with 1 chunk per rank",
                .rule = "interleaving needs at least 2 (SC'21 section 2.2.2)",
                .remedy = "use --num-virtual-stages-per-pipeline-rank 2, or --schedule 1f1b"});
  }
  return ScheduleKind::interleaved;
}

// What the interleaved schedule asks of the batches of a run.
class Interleaving {
 public:
  Interleaving(const Cut& cut, const BatchShapes& batches)
      : cut_(cut), largest_(batches.largest.microbatches), sizes_(batches.smaller) {
    // A file's order stands in for the largest batch.
    if (!cut.order) sizes_.push_back(largest_);
    at_once_ = batches.largest.sequences * cut.topology.data();
  }

  void require() const {
    if (cut_.group > 0) require_group();
    for (const int m : sizes_) require_batch(m);
  }

 private:
  [[nodiscard]] bool suits(int m) const { return schedule::can_interleave(cut_.shape(m)); }

  void require_batch(int m) const {
    if (suits(m)) return;
    const int p = cut_.topology.pipeline();
    std::string sizes;
    for (int below = m - 1; below > 0 && sizes.empty(); --below) {
      if (suits(below)) sizes = format("{} or ", below * at_once_);
    }
    int above = m + 1;
    while (!suits(above)) ++above;
    sizes += format("{}", above * at_once_);
    const std::string remedy = m == largest_
                                   ? format("use --global-batch-size {}", sizes)
                                   : format("let the batch grow over sizes like {}", sizes);
    fail_usage(
        {.where = "schedule",
         .what = format("a global batch of {} has {} microbatches (b {} x d {} x m {})",
                        m * at_once_, m, at_once_ / cut_.topology.data(), cut_.topology.data(), m),
         .rule = cut_.group > 0
                     ? format("in groups of {} microbatches the last one has at least p = {}",
                              cut_.group, p)
                     : format("interleaving needs a multiple of p = {} (SC'21 section 2.2.2)", p),
         .remedy = remedy + ", or --schedule gpipe"});
  }

  void require_group() const {
    if (sizes_.empty()) return;
    const int p = cut_.topology.pipeline();
    const int smallest = *std::min_element(sizes_.begin(), sizes_.end());
    if (p <= cut_.group && cut_.group <= smallest) return;
    // Where no group would do, the batch is what is wrong.
    if (cut_.group >= p && smallest < p) require_batch(smallest);
    fail_usage(
        {.where = "schedule",
         .what = format("--microbatch-group-size-per-virtual-pipeline-stage {}", cut_.group),
         .rule = format("a group has at least p = {} and at most m = {} microbatches", p, smallest),
         .remedy = cut_.group < p ? format("use {}", p) : format("use {}", smallest)});
  }

  const Cut& cut_;
  int largest_;
  std::vector<int> sizes_;
  int64_t at_once_ = 1;
};

// The order of a user's own, which must be that of the run's largest batch.
schedule::Pipeline read_order(const Path& file, const PipelineShape& shape) {
  schedule::Pipeline order = schedule::parse_pipeline(read_file(file), file.string());
  if (order.stages() != shape.stages || order.chunks != shape.chunks ||
      order.microbatches != shape.microbatches) {
    fail_usage({.where = "--schedule-file " + file.string(),
                .what = format("is for p = {}, v = {}, m = {}", order.stages(), order.chunks,
                               order.microbatches),
                .rule = format("the run has p = {}, v = {}, m = {}", shape.stages, shape.chunks,
                               shape.microbatches),
                .remedy = format("begin with trireme schedule --schedule gpipe "
                                 "--pipeline-model-parallel-size {} "
                                 "--num-virtual-stages-per-pipeline-rank {} --num-microbatches {}",
                                 shape.stages, shape.chunks, shape.microbatches)});
  }
  order = schedule::insert_communication(std::move(order));
  if (!order.trains()) {
    fail_usage({.where = "--schedule-file " + file.string(),
                .what = "has forwards only",
                .rule = "in training every microbatch goes forward and backward",
                .remedy = "write the backwards too; trireme schedule prints whole ones"});
  }
  return order;
}

std::vector<std::string> options_without_effect(const TrainOptions& options, const Cut& cut) {
  const config::CommunicationOptions& communication = options.communication;
  const int p = cut.topology.pipeline();
  const int t = cut.topology.tensor();
  const int d = cut.topology.data();
  std::vector<std::string> lines;
  const auto add = [&](std::string_view option, const std::string& rule) {
    lines.push_back(format("{} changes nothing here: {}", option, rule));
  };
  if (communication.use_tp_pp_dp_mapping && (p == 1 || d == 1)) {
    add("--use-tp-pp-dp-mapping",
        format("with {} = 1 ranks are numbered the same either way", p == 1 ? "p" : "d"));
  }
  if (communication.scatter_gather_tensors_in_pipeline.value_or(false) && (p == 1 || t == 1)) {
    add("--scatter-gather-tensors-in-pipeline",
        p == 1 ? "it is about messages between stages, and p = 1"
               : "messages between stages are cut in t parts, and t = 1");
  }
  const char* const alone = "gradients are added over data-parallel ranks, and d = 1";
  if (!communication.overlap_grad_reduce && d == 1) add("--no-overlap-grad-reduce", alone);
  if (communication.ddp_bucket_size != config::CommunicationOptions{}.ddp_bucket_size && d == 1)
    add("--ddp-bucket-size", alone);
  if (cut.schedule == ScheduleKind::gpipe && p == 1) {
    lines.push_back(
        "--schedule gpipe saves no time here: with p = 1 there is no bubble in any order; it only "
        "keeps the activations of all microbatches at once");
  }
  return lines;
}

}  // namespace

PipelineShape Cut::shape(int microbatches) const {
  return {.stages = topology.pipeline(),
          .microbatches = microbatches,
          .chunks = layout.chunks_per_rank(),
          .group = group};
}

std::string Cut::text(int threads) const {
  return format("ranks: {} = p {} x t {} x d {}, {} thread{} each\n{}", topology.world_size(),
                topology.pipeline(), topology.tensor(), topology.data(), threads,
                threads == 1 ? "" : "s", layout.placement());
}

bool Cut::adds_otherwise() const {
  return order && !schedule::notes_on_sums(*order).empty();
}

std::vector<std::string> Cut::notes() const {
  std::vector<std::string> notes = without_effect;
  if (!order) return notes;
  for (std::string& line : schedule::notes_on_sums(*order)) notes.push_back(std::move(line));
  return notes;
}

parallel::Layout pipeline_layout(const config::PipelineOptions& options,
                                 const model::GptShape& shape, const model::BatchShape& batch,
                                 const parallel::Topology& topology) {
  const int p = topology.pipeline();
  if (options.pipeline_model_parallel_layout) {
    parallel::Layout layout =
        parallel::parse_layout(*options.pipeline_model_parallel_layout, shape.layers, p);
    require_several_stages(p, layout.chunks_per_rank());
    return layout;
  }
  const int v = chunks_of(options, shape.layers, p);
  require_several_stages(p, v);
  if (options.balanced())
    return parallel::balanced_layout(shape.layers, p, v, stage_costs(shape, batch, topology));
  return parallel::equal_layout(shape.layers, p, v);
}

Cut cut_run(const TrainOptions& options, const model::GptShape& shape, const BatchShapes& batches,
            const parallel::Topology& topology) {
  model::require_possible(shape, batches.largest, topology);
  const config::PipelineOptions& pipeline = options.pipeline;
  Cut cut = {.topology = topology,
             .layout = pipeline_layout(pipeline, shape, batches.largest, topology)};
  cut.schedule = kind_of(pipeline, cut.layout.chunks_per_rank());
  if (const auto group = pipeline.microbatch_group_size_per_virtual_pipeline_stage) {
    if (cut.schedule != ScheduleKind::interleaved) {
      fail_usage({.where = "schedule",
                  .what = format("--microbatch-group-size-per-virtual-pipeline-stage {} with {} "
                                 "chunk per rank",
                                 *group, cut.layout.chunks_per_rank()),
                  .rule = "groups order the interleaved schedule",
                  .remedy = "leave it out, or use --num-virtual-stages-per-pipeline-rank 2"});
    }
    cut.group = static_cast<int>(*group);
  }
  if (pipeline.schedule_file)
    cut.order = read_order(*pipeline.schedule_file, cut.shape(batches.largest.microbatches));
  if (cut.schedule == ScheduleKind::interleaved) Interleaving(cut, batches).require();
  cut.without_effect = options_without_effect(options, cut);
  return cut;
}

}  // namespace trireme::train
