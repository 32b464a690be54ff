#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/sample_source.h"

namespace trireme::data {

/// What is read for one run: where from, which parts, how much. Either data_path with a split, or
/// part_paths, or mock data.
struct SourceOptions {
  std::vector<std::string> data_path = {};     ///< items of --data-path (parse_blend)
  std::string data_path_said = "--data-path";  ///< where they were said, for messages
  std::string split = "969, 30, 1";            ///< weights of train, validation, test
  /// Items of --train-data-path, --valid-data-path, --test-data-path, whose datasets are read
  /// whole.
  std::array<std::vector<std::string>, 3> part_paths = {};
  bool mock_data = false;
  int64_t vocab_size = 0;  ///< of mock data
  uint32_t seed = 1234;
  int64_t sequence_length = 0;
  RequestedSamples requested = {};  ///< a part with 0 requested samples is left out
  std::optional<Path> cache = {};   ///< folder of sample indices
};

/// One dataset's share in a part.
struct OpenSource {
  std::shared_ptr<const IndexedSamples> samples;
  std::optional<double> weight;  ///< of 1; nothing where datasets are not weighted
};

/// One part of a run's data.
struct OpenPart {
  std::shared_ptr<const SampleSource> source;     ///< null where nothing was requested
  std::vector<OpenSource> datasets;               ///< that it reads; none of mock data
  std::shared_ptr<const BlendedSamples> blended;  ///< the source, where it is a blend

  /// How each dataset is read in a run of so many samples: where this differs between two lengths,
  /// so does the order of samples.
  [[nodiscard]] std::vector<EpochPlan> epochs_for(int64_t requested) const;
  /// Samples of each dataset among the first n.
  [[nodiscard]] std::vector<int64_t> samples_among(int64_t n) const;
};

struct OpenSources {
  std::array<OpenPart, 3> parts;
  [[nodiscard]] OpenPart& operator[](Part part) { return parts[static_cast<size_t>(part)]; }
  [[nodiscard]] const OpenPart& operator[](Part part) const {
    return parts[static_cast<size_t>(part)];
  }
};

/// Opens the datasets and builds the order of each requested part, as many at a time as the pool
/// has threads. Throws, naming dataset and part, for a part that is requested and empty, has too
/// few tokens for one sample, has no dataset, or (unweighted datasets, which are read once) has
/// fewer samples than requested.
[[nodiscard]] OpenSources open_sources(const SourceOptions& options, ThreadPool& pool);

}  // namespace trireme::data
