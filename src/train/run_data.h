#pragma once
#include <memory>

#include "config/groups/data.h"
#include "data/feed.h"
#include "data/open_sources.h"
#include "data/report.h"
#include "text/tokenizer.h"
#include "train/options.h"

namespace trireme::train {

/// What the options say, for the data room. vocabulary: V of the model, for mock data.
[[nodiscard]] data::SourceOptions source_options(const config::DataOptions& options, uint32_t seed,
                                                 int64_t sequence_length, int64_t vocabulary,
                                                 const data::RequestedSamples& requested);
[[nodiscard]] data::BatchRules batch_rules(const config::DataOptions& options, int64_t vocabulary,
                                           const text::Tokenizer* tokenizer);
[[nodiscard]] data::FeedOptions feed_options(const config::DataOptions& options);

/// Samples of each part that a run reads. Usage error: a part has a path and is never read.
[[nodiscard]] data::RequestedSamples requested_samples(const TrainOptions& options,
                                                       const RunCourse& course);

/// The data of a run, open: batches of each part that it reads, null for the others.
struct RunData {
  std::shared_ptr<const data::Batches> train;
  std::shared_ptr<const data::Batches> validation;
  std::shared_ptr<const data::Batches> test;
  data::RequestedSamples requested;
  data::OpenSources sources;
  data::DataReport report;
};

/// Opens what the options name; every rank and every subcommand that reads a run's data does.
/// tokenizer  null: none; a rule that needs its end-of-document token is a usage error then
[[nodiscard]] RunData open_run_data(const TrainOptions& options, const RunCourse& course,
                                    int64_t vocabulary, const text::Tokenizer* tokenizer,
                                    ThreadPool& pool);

/// The order of samples depends on a run's length through its epochs: warns where the length that
/// the saved run was planned for gives another order than `now`.
void warn_of_another_order(const RunCourse& saved, const RunCourse& now, const RunData& data);

}  // namespace trireme::train
