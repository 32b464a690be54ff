#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"

namespace trireme::data {

/// Datasets that are read together.
struct Blend {
  std::vector<Path> prefixes;
  std::vector<double> weights;  ///< of each prefix; empty: none is weighted

  [[nodiscard]] bool weighted() const { return !weights.empty(); }
};

/// Reads the items of --data-path and its kin, by Megatron-LM's rule: an odd number of items, or a
/// first one that is no number, are prefixes; otherwise weights and prefixes in turn.
///
/// option  for messages, as in "--data-path"
/// Usage errors: no item; a weight that is no number, not finite, zero or negative; a number in
/// the place of a prefix where a weight or prefix seems to be missing; more than 32,766 datasets.
[[nodiscard]] Blend parse_blend(std::span<const std::string> items, std::string_view option);

/// The items of a --data-args-path file: its words. Throws when it has none.
[[nodiscard]] std::vector<std::string> read_data_args(const Path& file);

/// Weights over their sum, to the bit as NumPy divides them (its sum goes in eight lanes).
[[nodiscard]] std::vector<double> normalised_weights(std::span<const double> weights);

/// How many samples are taken from each dataset for a run of so many, and how many are made ready:
/// 0.5% more, since the blend does not hit the shares to the sample. Source: Megatron-LM.
struct BlendSizes {
  std::vector<int64_t> wanted;            ///< ceil(N w)
  std::vector<int64_t> built;             ///< ceil(1.005 ceil(N w))
  [[nodiscard]] int64_t samples() const;  ///< sum of wanted, at least N
};
[[nodiscard]] BlendSizes blend_sizes(std::span<const double> weights, int64_t requested);

/// Which dataset each sample of a blend comes from, and which of its samples that is: at sample i
/// the dataset with the largest w max(i, 1) - used, the first of equal ones. Source: Megatron-LM.
///
/// Memory: 2 bytes per sample, and as much again at most for counts on the way.
class BlendIndex {
 public:
  struct Place {
    int64_t dataset;
    int64_t sample;
    bool operator==(const Place&) const = default;
  };

  /// weights  normalised_weights()
  [[nodiscard]] static BlendIndex by_weights(std::span<const double> weights, int64_t samples);
  /// Each sample of each dataset once, datasets in the ratio of their sizes; those that have ended
  /// are left out. `samples` of them, at most the sum of the sizes.
  [[nodiscard]] static BlendIndex by_sizes(std::span<const int64_t> sizes, int64_t samples);

  [[nodiscard]] int64_t samples() const { return static_cast<int64_t>(dataset_.size()); }
  [[nodiscard]] Place operator[](int64_t k) const;
  /// Samples of each dataset among the first n.
  [[nodiscard]] std::vector<int64_t> used(int64_t n) const;

 private:
  BlendIndex(std::span<const double> weights, std::span<const int64_t> limits, int64_t samples);

  int64_t datasets_;
  int64_t block_;                  // samples between two counts
  std::vector<uint16_t> dataset_;  // [samples]
  std::vector<int64_t> counts_;    // [blocks, datasets] used in front of each block
};

}  // namespace trireme::data
