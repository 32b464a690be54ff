#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"

namespace trireme::train {

/// What is held against the one-rank run, in the order in which a step makes it.
enum class Quantity : uint8_t {
  start,     ///< weights and moments before the first step: the same bits in every layout
  forward,   ///< what an op of a forward wrote, of every microbatch
  loss,      ///< of the global batch
  backward,  ///< what an op of a backward wrote
  gradient,  ///< of the global batch, before clipping
  gradient_norm,
  first_moment,
  second_moment,
  update,  ///< weights behind a step from the one-rank run's weights, moments and gradients
};
[[nodiscard]] std::string_view name_of(Quantity quantity);

/// One tensor, or one value between two ops, beside that of the one-rank run.
struct Comparison {
  Quantity quantity = Quantity::loss;
  int step = 0;            ///< counts from 1; 0: before the first
  int64_t order = 0;       ///< among those of the quantity: the data flow's
  std::string name;        ///< of the tensor; of a value, as in "decoder.layers.1 mlp: o"
  std::string op;          ///< that made the value, with the tensors that it reads
  double error = 0;        ///< largest absolute difference; a huge one where a number is not finite
  double scale = 0;        ///< largest absolute value of the one-rank run
  double tolerance = 0;    ///< 0: the same bits are promised
  int64_t elements = 0;    ///< that were compared
  int64_t different = 0;   ///< of them, in any bit (but the sign of a zero)
  std::string where = {};  ///< the rank with the largest error, and the microbatch of a value

  [[nodiscard]] bool is_out() const { return error > tolerance; }
  /// The error as a part of the tolerance; very large where bits are promised and differ.
  [[nodiscard]] double ratio() const;
  /// Takes another rank's part, or another microbatch, in.
  void join(const Comparison& other);
};

/// A difference of numbers with what they should have been. Both spans have the same length.
void add_difference(Comparison& comparison, std::span<const float> reference,
                    std::span<const float> own);

/// What a verification showed; the same on all ranks.
struct VerifyReport {
  std::vector<Comparison> comparisons;  ///< in the order of the data flow, steps ascending
  /// The first that is out; null: none.
  [[nodiscard]] const Comparison* first_out() const;
  /// Whether everything is within its tolerance.
  [[nodiscard]] bool is_sound() const { return first_out() == nullptr; }

  /// A table of tensors and one of values, those nearest to their tolerance first, each with its
  /// worst step; rows: how many of the tensors and half as many values, 0: all. Then what is out
  /// first, or that nothing is.
  [[nodiscard]] std::string text(size_t rows) const;
  /// {"format": "trireme-verify", "version": 1, "sound", "first_out", "comparisons"}.
  [[nodiscard]] std::string json() const;
};

/// Joins what all ranks found. Called by all ranks of the world, which get the same report.
[[nodiscard]] VerifyReport join_reports(comm::Communicator& world, device::Stream& stream,
                                        const std::vector<Comparison>& own);

}  // namespace trireme::train
