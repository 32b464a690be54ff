#include "schedule/schedules.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/nearest_values.h"
#include "schedule/communication.h"

namespace trireme::schedule {
namespace {

struct Item {
  ChunkId chunk;
  MicrobatchId microbatch;
};

// The sequence of (chunk, microbatch) that every rank takes: group by group of microbatches, in it
// chunk by chunk. Entry k is the k-th forward; with the chunks reversed, the k-th backward.
std::vector<Item> order_table(const PipelineShape& shape, bool backward) {
  std::vector<Item> table;
  const int m = shape.microbatches;
  for (int first = 0; first < m; first += shape.group_size()) {
    for (int turn = 0; turn < shape.chunks; ++turn) {
      const ChunkId chunk{backward ? shape.chunks - 1 - turn : turn};
      for (int k = first; k < std::min(m, first + shape.group_size()); ++k)
        table.push_back({.chunk = chunk, .microbatch = MicrobatchId{k}});
    }
  }
  return table;
}

// The whole order of a rank follows from how many forwards it runs ahead.
Schedule with_warm_up(const PipelineShape& shape, int warm_up) {
  const std::vector<Item> forwards = order_table(shape, false);
  const std::vector<Item> backwards = order_table(shape, true);
  Schedule schedule = {.microbatches = shape.microbatches, .chunks = shape.chunks};
  const auto add = [&](ActionKind kind, const Item& item) {
    schedule.actions.push_back({.kind = kind, .chunk = item.chunk, .microbatch = item.microbatch});
  };
  const auto ahead = std::min(static_cast<size_t>(warm_up), forwards.size());
  for (size_t k = 0; k < ahead; ++k) add(ActionKind::forward, forwards[k]);
  for (size_t k = 0; k < backwards.size(); ++k) {
    if (k + ahead < forwards.size()) add(ActionKind::forward, forwards[k + ahead]);
    add(ActionKind::backward, backwards[k]);
  }
  schedule.actions.push_back({.kind = ActionKind::step});
  return schedule;
}

void require_interleaving(const PipelineShape& shape) {
  const int p = shape.stages;
  const int m = shape.microbatches;
  const int group = shape.group_size();
  if (shape.chunks < 2) {
    fail_usage({.where = "interleaved schedule",
                .what = format("{} chunk per rank", shape.chunks),
                .rule = "interleaving needs at least 2 (SC'21 section 2.2.2)",
                .remedy = "use --num-virtual-stages-per-pipeline-rank 2, or --schedule 1f1b"});
  }
  if (shape.group > 0 && (group < p || group > m)) {
    fail_usage({.where = "interleaved schedule",
                .what = format("groups of {} microbatches", group),
                .rule = format("a group has at least p = {} and at most m = {}", p, m),
                .remedy = m < p
                              ? format("use --num-microbatches {}", nearest_multiples(m, p))
                              : format("use --microbatch-group-size-per-virtual-pipeline-stage {}",
                                       group < p ? p : m)});
  }
  if (can_interleave(shape)) return;
  fail_usage(
      {.where = "interleaved schedule",
       .what = format("{} microbatches", m),
       .rule = shape.group > 0
                   ? format("the last group has at least p = {} (groups of {})", p, group)
                   : format("interleaving needs a multiple of p = {} (SC'21 section 2.2.2)", p),
       .remedy =
           format("use --num-microbatches {}, or --schedule gpipe", nearest_multiples(m, group))});
}

}  // namespace

bool can_interleave(const PipelineShape& shape) {
  const int rest = shape.microbatches % shape.group_size();
  if (shape.group == 0) return rest == 0;
  const bool fits = shape.stages <= shape.group && shape.group <= shape.microbatches;
  return fits && (rest == 0 || rest >= shape.stages);
}

Schedule gpipe(const PipelineShape& shape, int /*pipeline_rank*/) {
  return with_warm_up(shape, shape.microbatches * shape.chunks);
}

Schedule one_forward_one_backward(const PipelineShape& shape, int pipeline_rank) {
  if (shape.chunks != 1) {
    fail_usage({.where = "1F1B schedule",
                .what = format("{} chunks per rank", shape.chunks),
                .rule = "1F1B has one",
                .remedy = "use --schedule interleaved or gpipe"});
  }
  return with_warm_up(shape, shape.stages - pipeline_rank - 1);
}

Schedule interleaved(const PipelineShape& shape, int pipeline_rank) {
  require_interleaving(shape);
  return with_warm_up(
      shape, 2 * (shape.stages - pipeline_rank - 1) + (shape.chunks - 1) * shape.group_size());
}

Schedule forward_only(const PipelineShape& shape, int /*pipeline_rank*/) {
  Schedule schedule = {.microbatches = shape.microbatches, .chunks = shape.chunks};
  for (const Item& item : order_table(shape, false)) {
    schedule.actions.push_back(
        {.kind = ActionKind::forward, .chunk = item.chunk, .microbatch = item.microbatch});
  }
  return schedule;
}

Schedule make_schedule(ScheduleKind kind, const PipelineShape& shape, int pipeline_rank) {
  switch (kind) {
    case ScheduleKind::gpipe:
      return gpipe(shape, pipeline_rank);
    case ScheduleKind::one_forward_one_backward:
      return one_forward_one_backward(shape, pipeline_rank);
    case ScheduleKind::interleaved:
      return interleaved(shape, pipeline_rank);
    case ScheduleKind::forward_only:
      return forward_only(shape, pipeline_rank);
  }
  return {};
}

Pipeline make_pipeline(ScheduleKind kind, const PipelineShape& shape) {
  Pipeline pipeline = {.microbatches = shape.microbatches, .chunks = shape.chunks};
  for (int rank = 0; rank < shape.stages; ++rank)
    pipeline.ranks.push_back(make_schedule(kind, shape, rank).actions);
  return insert_communication(std::move(pipeline));
}

Schedule split_backwards(const Schedule& schedule) {
  Schedule split = {.microbatches = schedule.microbatches, .chunks = schedule.chunks};
  for (Action action : schedule.actions) {
    if (action.kind != ActionKind::backward) {
      split.actions.push_back(action);
      continue;
    }
    action.kind = ActionKind::input_gradient;
    split.actions.push_back(action);
    action.kind = ActionKind::weight_gradient;
    split.actions.push_back(action);
  }
  return split;
}

}  // namespace trireme::schedule
