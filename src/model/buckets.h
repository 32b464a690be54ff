#pragma once
#include <cstdint>
#include <vector>

#include "model/gpt_tensors.h"
#include "program/program.h"

namespace trireme::model {

/// How gradients are summed over the data group.
struct ReductionRules {
  /// Buckets are started as the last backward completes them; otherwise behind it.
  bool overlap = true;
  /// f32 elements of a bucket. On a CPU 1 to 16 MiB are three times as fast as huge ones.
  int64_t bucket_elements = 1 << 20;
  bool operator==(const ReductionRules&) const = default;
};

/// A range of a chunk's gradients that is reduced in one go. Tensors may span buckets: sums are
/// element by element, so that where buckets are cut changes no bit.
struct Bucket {
  int64_t offset = 0;  ///< bytes, in the gradient arena
  int64_t elements = 0;
  int chunk = 0;
  /// The op of the chunk's backward behind which it is complete. instance -1: only when the uses of
  /// a tied tensor are added, after all backwards.
  int instance = -1;
  int op = -1;

  [[nodiscard]] bool is_tied() const { return instance < 0; }
};

/// The buckets of a rank in the order in which they are started: as each chunk's backward completes
/// them, then those of tied tensors. A gradient that is added to another one of this rank is in
/// none. programs: of training, [chunk]; their backward visits instances in reverse.
[[nodiscard]] std::vector<Bucket> gradient_buckets(const std::vector<program::Program>& programs,
                                                   const parallel::TensorTable& table,
                                                   const LocalTensors& local,
                                                   const ReductionRules& rules);

}  // namespace trireme::model
