#include "app/model_cut.h"

#include "core/format.h"
#include "train/agreement.h"
#include "train/options.h"

namespace trireme::app {

model::RunRequest ModelCut::request(const model::GptShape& shape, LocalRank& rank) const {
  return {.shape = shape,
          .topology = topology,
          .at = rank.at(),
          .layout = layout,
          .scatter_gather = scatter_gather,
          .profile = rank.backend().profile,
          .train = false};
}

ModelCut cut_model(const config::ParallelOptions& options, const Ranks& ranks,
                   const model::GptShape& shape) {
  ModelCut cut = {.topology = train::topology(options, ranks.count()),
                  .scatter_gather = ranks.span_hosts()};
  model::require_possible(shape, {}, cut.topology);
  const auto h = static_cast<double>(shape.hidden);
  // Matrices of attention and MLP, beside the head's. Rows of the embeddings are looked up.
  cut.layout = parallel::balanced_layout(shape.layers, cut.topology.pipeline(), 1,
                                         {.layer = h * (4 * h + 2 * static_cast<double>(shape.ffn)),
                                          .head = h * static_cast<double>(shape.vocabulary)});
  return cut;
}

train::Subject checkpoint_subject(const checkpoint::CheckpointReader& reader) {
  return {.name = "checkpoint",
          .lines = format("iteration = {}\n", reader.manifest().run.iteration),
          .remedy = "name it with --ckpt-step, and wait until all hosts see it"};
}

}  // namespace trireme::app
