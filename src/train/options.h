#pragma once
#include "config/groups/batch.h"
#include "config/groups/checkpoint.h"
#include "config/groups/communication.h"
#include "config/groups/data.h"
#include "config/groups/debug.h"
#include "config/groups/engine.h"
#include "config/groups/logging.h"
#include "config/groups/model.h"
#include "config/groups/optimizer.h"
#include "config/groups/parallel.h"
#include "config/groups/pipeline.h"
#include "config/groups/tokenizer.h"
#include "config/option_set.h"
#include "model/run_plan.h"
#include "train/batch_course.h"

namespace trireme::train {

/// The options of a training run, all of which are saved with it.
struct TrainOptions {
  config::ModelOptions model;
  config::BatchOptions batch;
  config::OptimizerOptions optimizer;
  config::DataOptions data;
  config::TokenizerOptions tokenizer;
  config::ParallelOptions parallel;
  config::PipelineOptions pipeline;
  config::CommunicationOptions communication;
  config::EngineOptions engine;
  config::CheckpointOptions checkpoint;
  config::LoggingOptions logging;
  config::DebugOptions debug;

  /// Adds the groups to a set, in the order in which --help shows them.
  void declare(config::OptionSet& set);
};

/// The model that the options describe, with the vocabulary of a tokenizer or of --vocab-size.
[[nodiscard]] model::GptShape gpt_shape(const config::ModelOptions& options, int64_t vocabulary);

/// d follows from the number of ranks. Usage error, with all factors, where p t does not divide it.
[[nodiscard]] parallel::Topology topology(
    const config::ParallelOptions& parallel, int64_t ranks,
    parallel::RankOrder order = parallel::RankOrder::tensor_data_pipeline);
[[nodiscard]] parallel::RankOrder rank_order(const config::CommunicationOptions& options);
/// The run's length and the size of its batches.
[[nodiscard]] RunCourse run_course(const TrainOptions& options, const parallel::Topology& topology);
/// The largest batch of a course, and the m of the others. Throws a usage error where b d does not
/// divide one of them.
struct BatchShapes {
  model::BatchShape largest;
  std::vector<int> smaller = {};
};
[[nodiscard]] BatchShapes batch_shapes(const RunCourse& course, int64_t micro_batch_size,
                                       const parallel::Topology& topology);

[[nodiscard]] model::OptimizerRules optimizer_rules(const config::OptimizerOptions& options);

}  // namespace trireme::train
