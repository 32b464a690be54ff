#include "config/groups/pipeline.h"

#include "core/format.h"

namespace trireme::config {

const Group& PipelineOptions::group() {
  using O = PipelineOptions;
  static const Group table = {
      "Pipeline",
      "which layers each stage has, and in which order the stages work",
      {
          field(&O::num_virtual_stages_per_pipeline_rank,
                {.name = "num-virtual-stages-per-pipeline-rank",
                 .help = "model chunks of each rank, v, with equally many layers; more than one "
                         "makes the bubble smaller and the messages more",
                 .otherwise = "1",
                 .range = between(1, 1024)}),
          field(&O::num_layers_per_virtual_pipeline_stage,
                {.name = "num-layers-per-virtual-pipeline-stage",
                 .help = "the same by the layers of a chunk, which makes v layers / (p x this)",
                 .otherwise = "layers / (p v)",
                 .range = between(1, 1 << 20)}),
          field(&O::pipeline_model_parallel_layout,
                {.name = "pipeline-model-parallel-layout",
                 .help = "the layers of every stage, as in 'Et*3|(tt|)*4ttL': E embedding, t "
                         "layer, L head and loss, | between stages, first chunk of every rank "
                         "first; v follows",
                 .otherwise = "given by pipeline-layout"}),
          field(&O::pipeline_layout,
                {.name = "pipeline-layout",
                 .help = "equal: equally many layers in every stage; auto: as many as balance the "
                         "stages' work, embedding and head included",
                 .otherwise = "equal",
                 .words = {"equal", "auto"}}),
          field(&O::schedule, {.name = "schedule",
                               .help = "order of forwards and backwards; changes no result",
                               .otherwise = "1f1b; with chunks (v above 1): interleaved",
                               .words = {"gpipe", "1f1b", "interleaved"}}),
          field(&O::microbatch_group_size_per_virtual_pipeline_stage,
                {.name = "microbatch-group-size-per-virtual-pipeline-stage",
                 .help = "of the interleaved order: microbatches that go through a chunk before "
                         "the next has its turn",
                 .otherwise = "p",
                 .range = between(1, 1 << 20)}),
          field(&O::schedule_file,
                {.name = "schedule-file",
                 .help = "an order of one's own: the actions of every stage for a batch of "
                         "global-batch-size, as `trireme schedule` prints them; checked before "
                         "the run begins",
                 .otherwise = "given by schedule"}),
      }};
  return table;
}

namespace {

struct Given {
  const char* name;
  bool given;
};

}  // namespace

std::optional<Conflict> PipelineOptions::validate() const {
  const Given virtual_stages = {"num-virtual-stages-per-pipeline-rank",
                                num_virtual_stages_per_pipeline_rank.has_value()};
  const Given virtual_layers = {"num-layers-per-virtual-pipeline-stage",
                                num_layers_per_virtual_pipeline_stage.has_value()};
  const Given text = {"pipeline-model-parallel-layout", pipeline_model_parallel_layout.has_value()};
  const Given layout = {"pipeline-layout", pipeline_layout.has_value()};
  const Given balance = {"pipeline-layout", balanced()};
  const Given order = {"schedule", schedule.has_value()};
  const Given group_size = {"microbatch-group-size-per-virtual-pipeline-stage",
                            microbatch_group_size_per_virtual_pipeline_stage.has_value()};
  const Given file = {"schedule-file", schedule_file.has_value()};

  // Pairs of which each says what the other says too.
  struct Pair {
    const Given& one;
    const Given& other;
    const char* rule;
  };
  for (const auto& [one, other, rule] :
       {Pair{virtual_stages, virtual_layers, "each of them says how many chunks a rank has"},
        Pair{text, virtual_stages, "the layout's text says how many chunks a rank has"},
        Pair{text, virtual_layers, "the layout's text says how many layers a stage has"},
        Pair{text, layout, "each of them says which layers a stage has"},
        Pair{balance, virtual_layers, "a balanced layout chooses the layers of each stage"},
        Pair{file, order, "the file says the order"},
        Pair{file, group_size, "the file says the order"}}) {
    if (!one.given || !other.given) continue;
    return Conflict{.names = {one.name, other.name},
                    .what = format("{} and {} are both given", one.name, other.name),
                    .rule = rule,
                    .remedy = &one == &balance ? "use num-virtual-stages-per-pipeline-rank with it"
                                               : "leave one of them out"};
  }
  if (group_size.given && schedule && *schedule != PipelineSchedule::interleaved) {
    return Conflict{.names = {group_size.name, order.name},
                    .what = format("{} for a schedule that is not interleaved", group_size.name),
                    .rule = "groups order the interleaved schedule",
                    .remedy = "use schedule interleaved, or leave the group size out"};
  }
  return std::nullopt;
}

}  // namespace trireme::config
