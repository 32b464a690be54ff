#include "data/open_sources.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::data {
namespace {

using Datasets = std::map<Path, std::shared_ptr<const IndexedDataset>>;

constexpr std::array kPathOptions = {"--train-data-path", "--valid-data-path", "--test-data-path"};

/// What a part is made of, before anything is opened.
struct PartPlan {
  Part part = Part::train;
  int64_t requested = 0;
  Blend blend;
  std::vector<double> shares;  // weights over their sum; empty: unweighted
  BlendSizes sizes;            // of weighted datasets
  bool split = false;          // the datasets are cut by --split

  [[nodiscard]] SampleOrder order(size_t dataset, const SourceOptions& options) const {
    std::optional<int64_t> samples;
    if (blend.weighted()) {
      samples = sizes.built[dataset];
    } else if (blend.prefixes.size() == 1) {
      samples = requested;
    }
    return {options.sequence_length, samples, options.seed};
  }
};

PartPlan plan_part(const SourceOptions& options, Part part) {
  PartPlan plan = {.part = part, .requested = options.requested.of(part)};
  const auto& own = options.part_paths[static_cast<size_t>(part)];
  plan.split = !options.data_path.empty();
  if (!plan.split && own.empty()) {
    fail_usage({.where = "data",
                .what = format("the {} part has no dataset", name_of(part)),
                .rule = format("{} samples of it are read", plan.requested),
                .remedy = part == Part::train
                              ? "give --data-path or --train-data-path, or --mock-data for a trial"
                              : format("give {}, or --eval-iters 0",
                                       kPathOptions[static_cast<size_t>(part)])});
  }
  plan.blend = plan.split ? parse_blend(options.data_path, options.data_path_said)
                          : parse_blend(own, kPathOptions[static_cast<size_t>(part)]);
  if (plan.blend.weighted()) {
    plan.shares = normalised_weights(plan.blend.weights);
    plan.sizes = blend_sizes(plan.shares, plan.requested);
  }
  return plan;
}

void warn_of_doubles(const Blend& blend) {
  std::set<Path> seen;
  for (const Path& prefix : blend.prefixes) {
    if (seen.insert(prefix).second) continue;
    warn(format("{} is named twice: its samples come from both in one and the same order",
                prefix.string()));
  }
}

Datasets open_datasets(const std::vector<PartPlan>& plans, ThreadPool& pool) {
  Datasets datasets;
  for (const PartPlan& plan : plans) {
    for (const Path& prefix : plan.blend.prefixes) datasets[prefix] = nullptr;
  }
  std::vector<Datasets::value_type*> entries;
  for (auto& entry : datasets) entries.push_back(&entry);
  pool.parallel_for(static_cast<int64_t>(entries.size()), [&](int64_t i, int) {
    auto& [prefix, dataset] = *entries[static_cast<size_t>(i)];
    dataset = std::make_shared<const IndexedDataset>(prefix);
  });
  return datasets;
}

/// One index to build.
struct Job {
  const PartPlan* plan;
  size_t dataset;
  std::shared_ptr<const IndexedDataset> file;
  SequenceRange range;
};

SequenceRange range_of(const PartPlan& plan, const IndexedDataset& file, const std::string& split) {
  if (!plan.split) return {0, file.sequences()};
  return split_ranges(split, file.sequences())[static_cast<size_t>(plan.part)];
}

/// Few indices: one after the other, all threads in each. Many: one thread for each.
std::vector<std::shared_ptr<const IndexedSamples>> build(const std::vector<Job>& jobs,
                                                         const SourceOptions& options,
                                                         ThreadPool& pool) {
  std::optional<IndexCache> cache;
  if (options.cache) cache.emplace(*options.cache);
  std::vector<std::shared_ptr<const IndexedSamples>> samples(jobs.size());
  const auto make = [&](size_t i, ThreadPool& threads) {
    const Job& job = jobs[i];
    samples[i] = std::make_shared<const IndexedSamples>(job.file, job.range, job.plan->part,
                                                        job.plan->order(job.dataset, options),
                                                        cache ? &*cache : nullptr, threads);
  };
  if (static_cast<int64_t>(jobs.size()) < 2 * pool.threads()) {
    for (size_t i = 0; i < jobs.size(); ++i) make(i, pool);
    return samples;
  }
  // The largest first, so that none is left alone at the end.
  std::vector<size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return jobs[a].range.size() > jobs[b].range.size(); });
  pool.parallel_for(static_cast<int64_t>(jobs.size()), [&](int64_t i, int) {
    ThreadPool alone(1);
    make(order[static_cast<size_t>(i)], alone);
  });
  return samples;
}

std::shared_ptr<const BlendedSamples> join(const PartPlan& plan,
                                           const std::vector<OpenSource>& datasets) {
  std::vector<std::shared_ptr<const IndexedSamples>> samples;
  std::vector<int64_t> sizes;
  for (const OpenSource& dataset : datasets) {
    samples.push_back(dataset.samples);
    sizes.push_back(dataset.samples->samples());
  }
  if (plan.blend.weighted()) {
    return std::make_shared<const BlendedSamples>(
        std::move(samples), BlendIndex::by_weights(plan.shares, plan.sizes.samples()));
  }
  const int64_t all = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (plan.requested > all) {
    fail({.where = format("data, {} part", name_of(plan.part)),
          .what = format("the run takes {} samples, its {} datasets have {}", plan.requested,
                         sizes.size(), all),
          .rule = "datasets without weights are read once",
          .remedy = "give each of them a weight, or shorten the run"});
  }
  return std::make_shared<const BlendedSamples>(std::move(samples),
                                                BlendIndex::by_sizes(sizes, plan.requested));
}

OpenPart mock_part(const SourceOptions& options, Part part) {
  OpenPart open;
  open.source = std::make_shared<const MockSamples>(
      MockSamples::Options{.vocab_size = options.vocab_size,
                           .sequence_length = options.sequence_length,
                           .samples = options.requested.of(part),
                           .seed = options.seed,
                           .part = part});
  return open;
}

}  // namespace

std::vector<EpochPlan> OpenPart::epochs_for(int64_t requested) const {
  std::vector<EpochPlan> plans;
  for (const OpenSource& dataset : datasets) {
    const IndexPlan& plan = dataset.samples->index().plan();
    std::optional<int64_t> samples;
    if (dataset.weight) {
      samples = blend_sizes(std::span(&*dataset.weight, 1), requested).built[0];
    } else if (datasets.size() == 1) {
      samples = requested;
    }
    plans.push_back(plan_epochs(plan.tokens_per_epoch, plan.sequence_length, samples));
  }
  return plans;
}

std::vector<int64_t> OpenPart::samples_among(int64_t n) const {
  if (blended != nullptr) return blended->blend().used(n);
  return std::vector<int64_t>(datasets.size(), n);
}

OpenSources open_sources(const SourceOptions& options, ThreadPool& pool) {
  OpenSources sources;
  std::vector<PartPlan> plans;
  for (const Part part : kParts) {
    if (options.requested.of(part) == 0) continue;
    if (options.mock_data) {
      sources[part] = mock_part(options, part);
    } else {
      plans.push_back(plan_part(options, part));
    }
  }
  for (size_t i = 0; i < plans.size() && (i == 0 || !plans[i].split); ++i) {
    warn_of_doubles(plans[i].blend);
  }
  const Datasets files = open_datasets(plans, pool);
  std::vector<Job> jobs;
  for (const PartPlan& plan : plans) {
    for (size_t i = 0; i < plan.blend.prefixes.size(); ++i) {
      const auto& file = files.at(plan.blend.prefixes[i]);
      jobs.push_back({&plan, i, file, range_of(plan, *file, options.split)});
    }
  }
  const auto samples = build(jobs, options, pool);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    std::optional<double> weight;
    if (job.plan->blend.weighted()) weight = job.plan->shares[job.dataset];
    sources[job.plan->part].datasets.push_back({samples[i], weight});
  }
  for (const PartPlan& plan : plans) {
    OpenPart& part = sources[plan.part];
    if (plan.blend.weighted() || part.datasets.size() > 1) {
      part.blended = join(plan, part.datasets);
      part.source = part.blended;
    } else {
      part.source = part.datasets[0].samples;
    }
  }
  return sources;
}

}  // namespace trireme::data
