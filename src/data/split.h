#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace trireme::data {

/// The parts of a run's data, in the order of every array of three.
enum class Part { train, validation, test };
inline constexpr std::array kParts = {Part::train, Part::validation, Part::test};
[[nodiscard]] constexpr std::string_view name_of(Part part) {
  constexpr std::array<std::string_view, 3> kNames = {"train", "validation", "test"};
  return kNames[static_cast<size_t>(part)];
}

/// Sequences [begin, end) of a dataset.
struct SequenceRange {
  int64_t begin = 0;
  int64_t end = 0;
  [[nodiscard]] int64_t size() const { return end - begin; }
  bool operator==(const SequenceRange&) const = default;
};

/// The train, validation and test parts of `sequences` sequences by weights as in "969, 30, 1"
/// (numbers between commas, blanks, colons or slashes; missing ones are 0). A part may be empty.
/// Source: Megatron-LM's split: float64 shares, cumulative bounds, rounded half to even.
/// Throws a usage error for anything that is not one to three weights >= 0 with a sum above 0.
[[nodiscard]] std::array<SequenceRange, 3> split_ranges(std::string_view weights,
                                                        int64_t sequences);

/// How long a run is. Where one of train_iterations and train_samples is 0 it follows from the
/// other by the size of the batch; where the batch grows, both are given and the size is the
/// largest.
struct RunLength {
  int64_t train_iterations = 0;
  int64_t train_samples = 0;
  int64_t global_batch_size = 0;
  int64_t eval_interval = 0;  ///< iterations between validations; 0: none on the way
  int64_t eval_iterations = 0;
};

struct RequestedSamples {
  int64_t train = 0;
  int64_t valid = 0;
  int64_t test = 0;
  [[nodiscard]] int64_t of(Part part) const {
    return part == Part::train ? train : part == Part::validation ? valid : test;
  }
  bool operator==(const RequestedSamples&) const = default;
};

/// Samples each part must offer: all training steps; eval_iterations batches at every interval and
/// once more at the end; eval_iterations batches of test. Throws when a product exceeds 63 bits.
[[nodiscard]] RequestedSamples requested_samples(const RunLength& length);

/// a times b; a usage error that names `what` when it exceeds 63 bits.
[[nodiscard]] int64_t checked_product(int64_t a, int64_t b, std::string_view what);

}  // namespace trireme::data
