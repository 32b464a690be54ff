#include "app/decided_run.h"

#include "app/tokenizer_files.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::app {
namespace {

int64_t vocabulary_of(const train::TrainOptions& options,
                      const std::optional<text::Tokenizer>& tokenizer) {
  if (!tokenizer && !options.model.vocab_size) {
    fail_usage(
        {.where = "vocabulary",
         .what = "neither a tokenizer nor --vocab-size is given",
         .rule = "the model needs to know how many words there are",
         .remedy = "give --tokenizer-model, or --vocab-file and --merge-file, or --vocab-size"});
  }
  const int64_t words = tokenizer ? tokenizer->vocab_size() : *options.model.vocab_size;
  if (options.model.vocab_size && *options.model.vocab_size < words) {
    fail_usage({.where = "--vocab-size",
                .what = format("{}, the tokenizer has {} tokens", *options.model.vocab_size, words),
                .rule = "every token of the tokenizer is a word of the model",
                .remedy = format("use --vocab-size {} or leave it out", words)});
  }
  return options.model.vocab_size.value_or(words);
}

}  // namespace

DecidedRun decide_run(const train::TrainOptions& options, const Ranks& ranks) {
  const parallel::Topology topology =
      train::topology(options.parallel, ranks.count(), train::rank_order(options.communication));
  DecidedRun run;
  run.tokenizer = load_tokenizer(options.tokenizer);
  const model::GptShape shape =
      train::gpt_shape(options.model, vocabulary_of(options, run.tokenizer));
  run.course = train::run_course(options, topology);
  train::BatchShapes batches =
      train::batch_shapes(run.course, options.batch.micro_batch_size, topology);
  batches.largest.documents = options.data.reset_attention_mask;
  run.cut = train::cut_run(options, shape, batches, topology);
  run.request = {
      .shape = shape,
      .batch = batches.largest,
      .smaller_batches = batches.smaller,
      .topology = topology,
      .layout = run.cut.layout,
      .kind = run.cut.schedule,
      .group = run.cut.group,
      .order = run.cut.order,
      .reduction = {.overlap = options.communication.overlap_grad_reduce,
                    .bucket_elements = options.communication.ddp_bucket_size},
      .scatter_gather =
          options.communication.scatter_gather_tensors_in_pipeline.value_or(ranks.span_hosts()),
      .optimizer = train::optimizer_rules(options.optimizer),
      .profile = {.threads = ranks.threads()},
      .evaluate = options.logging.eval_iters > 0};
  return run;
}

int64_t bytes_here(const model::RunRequest& request, const Ranks& ranks) {
  model::RunRequest one = request;
  int64_t bytes = 0;
  for (int rank = 0; rank < request.topology.world_size(); ++rank) {
    one.at = request.topology.coordinates(Rank{rank});
    bytes += model::plan_run(one).memory.total();
  }
  return bytes * ranks.here() / ranks.count();
}

}  // namespace trireme::app
