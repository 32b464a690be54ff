#include "train/options.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/nearest_values.h"

namespace trireme::train {

void TrainOptions::declare(config::OptionSet& set) {
  set.add(model);
  set.add(batch);
  set.add(optimizer);
  set.add(data);
  set.add(tokenizer);
  set.add(parallel);
  set.add(pipeline);
  set.add(communication);
  set.add(engine);
  set.add(checkpoint);
  set.add(logging);
  set.add(debug);
}

model::GptShape gpt_shape(const config::ModelOptions& options, int64_t vocabulary) {
  return {.layers = static_cast<int>(options.num_layers),
          .hidden = options.hidden_size,
          .heads = options.num_attention_heads,
          .ffn = options.ffn(),
          .length = options.seq_length,
          .positions = options.positions(),
          .vocabulary = vocabulary,
          .vocabulary_granule = options.make_vocab_size_divisible_by,
          .hidden_dropout = options.hidden_dropout,
          .attention_dropout = options.attention_dropout,
          .norm_epsilon = options.norm_epsilon,
          .init_deviation = options.init_method_std,
          .tied_embeddings = !options.untie_embeddings_and_output_weights,
          .attention = options.stores_scores() ? model::AttentionForm::stored
                                               : model::AttentionForm::recomputed};
}

parallel::RankOrder rank_order(const config::CommunicationOptions& options) {
  return options.use_tp_pp_dp_mapping ? parallel::RankOrder::tensor_pipeline_data
                                      : parallel::RankOrder::tensor_data_pipeline;
}

parallel::Topology topology(const config::ParallelOptions& parallel, int64_t ranks,
                            parallel::RankOrder order) {
  const int64_t t = parallel.tensor_model_parallel_size;
  const int64_t p = parallel.pipeline_model_parallel_size;
  if (ranks % (t * p) != 0) {
    fail_usage(
        {.where = "topology",
         .what = format("{} ranks, and no d with which p {} x t {} x d = {}", ranks, p, t, ranks),
         .rule =
             "ranks = p t d (--pipeline-model-parallel-size, --tensor-model-parallel-size, and d "
             "data-parallel ranks)",
         .remedy = format("use {} ranks, or other sizes", nearest_multiples(ranks, t * p))});
  }
  return {static_cast<int>(p), static_cast<int>(t), static_cast<int>(ranks / (t * p)), order};
}

RunCourse run_course(const TrainOptions& options, const parallel::Topology& topology) {
  return run_course(options.batch, options.batch.micro_batch_size * topology.data(),
                    options.model.seq_length);
}

namespace {

int microbatches_of(int64_t global, int64_t micro_batch_size, const parallel::Topology& topology) {
  const int64_t at_once = micro_batch_size * topology.data();
  if (global % at_once != 0) {
    fail_usage({.where = "batch",
                .what = format(
                    "a global batch of {} with --micro-batch-size {} and {} data-parallel ranks",
                    global, micro_batch_size, topology.data()),
                .rule = "the global batch is a multiple of b d",
                .remedy = format("use {}", nearest_multiples(global, at_once))});
  }
  constexpr int64_t kMostMicrobatches = 1 << 20;
  if (global / at_once > kMostMicrobatches) {
    fail_usage({.where = "batch",
                .what = format("{} microbatches per global batch", global / at_once),
                .rule = format("at most {}", kMostMicrobatches),
                .remedy = "use a larger --micro-batch-size or a smaller --global-batch-size"});
  }
  return static_cast<int>(global / at_once);
}

}  // namespace

BatchShapes batch_shapes(const RunCourse& course, int64_t micro_batch_size,
                         const parallel::Topology& topology) {
  BatchShapes shapes = {.largest = {.sequences = micro_batch_size}};
  for (const BatchCourse::Stage& stage : course.batch.stages())
    shapes.smaller.push_back(microbatches_of(stage.batch, micro_batch_size, topology));
  const auto largest = std::max_element(shapes.smaller.begin(), shapes.smaller.end());
  shapes.largest.microbatches = *largest;
  shapes.smaller.erase(largest);
  return shapes;
}

model::OptimizerRules optimizer_rules(const config::OptimizerOptions& options) {
  return {.beta1 = options.adam_beta1,
          .beta2 = options.adam_beta2,
          .epsilon = options.adam_eps,
          .weight_decay = options.weight_decay,
          .clip_gradient = options.clip_grad};
}

}  // namespace trireme::train
