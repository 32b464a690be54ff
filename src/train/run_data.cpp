#include "train/run_data.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::train {

using data::Part;

data::SourceOptions source_options(const config::DataOptions& options, uint32_t seed,
                                   int64_t sequence_length, int64_t vocabulary,
                                   const data::RequestedSamples& requested) {
  data::SourceOptions sources = {
      .data_path = options.data_path,
      .split = options.split_or_default(),
      .part_paths = {options.train_data_path, options.valid_data_path, options.test_data_path},
      .mock_data = options.mock_data,
      .vocab_size = vocabulary,
      .seed = seed,
      .sequence_length = sequence_length,
      .requested = requested,
      .cache = options.data_cache_path};
  if (options.data_args_path) {
    sources.data_path = data::read_data_args(*options.data_args_path);
    sources.data_path_said = options.data_args_path->string();
  }
  return sources;
}

data::BatchRules batch_rules(const config::DataOptions& options, int64_t vocabulary,
                             const text::Tokenizer* tokenizer) {
  return {.vocab_size = vocabulary,
          .eod = tokenizer != nullptr ? tokenizer->end_of_text().value_or(-1) : -1,
          .reset_position_ids = options.reset_position_ids,
          .reset_attention_mask = options.reset_attention_mask,
          .eod_mask_loss = options.eod_mask_loss};
}

data::FeedOptions feed_options(const config::DataOptions& options) {
  return {.threads = static_cast<int>(options.num_workers)};
}

data::RequestedSamples requested_samples(const TrainOptions& options, const RunCourse& course) {
  data::RequestedSamples requested =
      data::requested_samples({.train_iterations = course.iterations,
                               .train_samples = course.samples,
                               .global_batch_size = course.batch.largest(),
                               .eval_interval = options.logging.eval_interval,
                               .eval_iterations = options.logging.eval_iters});
  if (options.data.test_data_path.empty()) requested.test = 0;
  const char* unread = !options.data.valid_data_path.empty()  ? "--valid-data-path"
                       : !options.data.test_data_path.empty() ? "--test-data-path"
                                                              : nullptr;
  if (unread != nullptr && options.logging.eval_iters == 0) {
    fail_usage({.where = unread,
                .what = "is never read with --eval-iters 0",
                .rule = "--eval-iters is the length of a validation and of the test",
                .remedy = "leave one of them out"});
  }
  return requested;
}

RunData open_run_data(const TrainOptions& options, const RunCourse& course, int64_t vocabulary,
                      const text::Tokenizer* tokenizer, ThreadPool& pool) {
  const data::BatchRules rules = batch_rules(options.data, vocabulary, tokenizer);
  rules.require_eod();
  RunData run;
  run.requested = requested_samples(options, course);
  run.sources =
      data::open_sources(source_options(options.data, static_cast<uint32_t>(options.batch.seed),
                                        options.model.seq_length, vocabulary, run.requested),
                         pool);
  const auto batches = [&](Part part) -> std::shared_ptr<const data::Batches> {
    if (run.sources[part].source == nullptr) return nullptr;
    return std::make_shared<const data::Batches>(run.sources[part].source, rules);
  };
  run.train = batches(Part::train);
  run.validation = batches(Part::validation);
  run.test = batches(Part::test);
  run.report = data::report_sources(run.sources, run.requested, rules.eod, pool);
  run.report.excerpt = data::excerpt_of(*run.train, tokenizer);
  return run;
}

void warn_of_another_order(const RunCourse& saved, const RunCourse& now, const RunData& data) {
  const data::OpenPart& train = data.sources[Part::train];
  const std::vector<data::EpochPlan> before = train.epochs_for(saved.samples);
  const std::vector<data::EpochPlan> after = train.epochs_for(now.samples);
  const auto [first, second] = std::mismatch(before.begin(), before.end(), after.begin());
  if (first == before.end()) return;
  const auto dataset = static_cast<size_t>(first - before.begin());
  warn(
      format("a run of {} samples reads {} {} times, the run so far was planned for {} samples "
             "and {} times: from here on the samples come in another order, and some come again",
             now.samples, train.datasets[dataset].samples->dataset().prefix().string(),
             second->epochs, saved.samples, first->epochs));
}

}  // namespace trireme::train
