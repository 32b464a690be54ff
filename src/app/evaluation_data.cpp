#include "app/evaluation_data.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "data/open_sources.h"
#include "train/agreement.h"
#include "train/run_data.h"

namespace trireme::app {
namespace {

using config::EvaluatePart;
using data::Part;

Part part_of(const config::EvaluateOptions& options) {
  // Whole datasets are read as a training part of their own.
  if (!options.part) return options.split ? Part::validation : Part::train;
  return *options.part == EvaluatePart::train        ? Part::train
         : *options.part == EvaluatePart::validation ? Part::validation
                                                     : Part::test;
}

bool is_whole(const config::EvaluateOptions& options) {
  return !options.part && !options.split;
}

data::RequestedSamples request(Part part, int64_t samples) {
  data::RequestedSamples requested;
  (part == Part::train        ? requested.train
   : part == Part::validation ? requested.valid
                              : requested.test) = samples;
  return requested;
}

// Whether a run read token files for a part.
bool has_part(const config::DataOptions& data, Part part) {
  if (!data.by_part()) return !data.data_path.empty() || data.data_args_path;
  return part == Part::train        ? !data.train_data_path.empty()
         : part == Part::validation ? !data.valid_data_path.empty()
                                    : !data.test_data_path.empty();
}

data::SourceOptions sources_of(const config::EvaluateOptions& options,
                               const train::TrainOptions& saved, int64_t length,
                               int64_t vocabulary) {
  config::DataOptions named = saved.data;
  if (!options.data_path.empty()) {
    named = {};
    if (is_whole(options)) {
      named.train_data_path = options.data_path;
    } else {
      named.data_path = options.data_path;
      named.split = options.split ? options.split : saved.data.split_or_default();
    }
  } else if (!has_part(named, part_of(options))) {
    fail_usage({.where = "--part",
                .what = format("the run has no token files for its {} part",
                               data::name_of(part_of(options))),
                .rule = "without --data-path a part is one of the run's own data",
                .remedy = "give --data-path"});
  }
  named.data_cache_path.reset();
  return train::source_options(named, static_cast<uint32_t>(saved.batch.seed), length, vocabulary,
                               {});
}

int64_t samples_of(const data::OpenPart& part) {
  int64_t samples = 0;
  for (const data::OpenSource& dataset : part.datasets) samples += dataset.samples->samples();
  return samples;
}

std::string name_of(const data::OpenPart& part, const config::EvaluateOptions& options) {
  std::string name = part.datasets.size() == 1
                         ? part.datasets[0].samples->dataset().prefix().string()
                         : format("{} datasets", part.datasets.size());
  if (!is_whole(options)) name += format(", {} part", data::name_of(part_of(options)));
  return name;
}

}  // namespace

EvaluationData open_evaluation_data(const config::EvaluateOptions& options,
                                    const train::TrainOptions& saved, int64_t length,
                                    int64_t vocabulary, const text::Tokenizer* tokenizer,
                                    ThreadPool& pool) {
  const data::BatchRules rules = train::batch_rules(saved.data, vocabulary, tokenizer);
  rules.require_eod();
  const Part part = part_of(options);
  data::SourceOptions sources = sources_of(options, saved, length, vocabulary);
  const auto open = [&](int64_t samples) {
    sources.requested = request(part, samples);
    return data::open_sources(sources, pool)[part];
  };
  data::OpenPart opened = open(1);
  int64_t samples = 0;
  if (opened.datasets[0].weight) {
    if (!options.limit) {
      fail_usage({.where = "--data-path",
                  .what = "datasets with weights have no end",
                  .rule = "by weights, samples are drawn from them as often as wanted",
                  .remedy = "say with --limit how many samples are wanted"});
    }
    samples = *options.limit;
    opened = open(samples);
  } else {
    const int64_t all = samples_of(opened);
    samples = std::min(options.limit.value_or(all), all);
    if (opened.datasets.size() > 1) opened = open(samples);
  }
  return {.batches = std::make_shared<const data::Batches>(opened.source, rules),
          .samples = samples,
          .name = name_of(opened, options),
          .content = train::data_lines(part, opened)};
}

}  // namespace trireme::app
