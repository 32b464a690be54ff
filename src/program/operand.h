#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/random.h"

namespace trireme::program {

/// What an op does with an operand. part: writes a part of it and leaves the rest. add: a gradient
/// that is overwritten or added to, as the backward's role says.
enum class Access { read, write, part, update, add };

/// One operand as the op kind declares it; the checker holds the bound value's dtype and size
/// against it.
struct Operand {
  std::string_view name;
  Access access = Access::read;
  DType dtype = DType::f32;
  int64_t elements = 0;
};

/// Cost of one op as pure functions of its sizes.
struct Cost {
  double flops = 0;          ///< executed floating-point operations
  double nominal_flops = 0;  ///< as the paper counts: matrix products only, attention without the
                             ///< causal half (section 5.1)
  double bytes = 0;          ///< read plus written, each operand once
};

/// What the planner may know of a device's kernels. They may need less workspace than this makes of
/// it, never more.
struct BackendProfile {
  int threads = 1;
};

/// A dropout place: drops with this probability by the numbers of (seed, site, layer, sample
/// position, element).
struct Dropout {
  RandomSite site = RandomSite::mlp_dropout;
  double probability = 0;
  bool operator==(const Dropout&) const = default;
};

/// Sum of the operands' bytes: what an op moves when it touches each operand once.
[[nodiscard]] inline double bytes_once(const std::vector<Operand>& operands) {
  double bytes = 0;
  for (const Operand& operand : operands) {
    const bool both_ways = operand.access == Access::update;
    bytes += static_cast<double>(operand.elements * bytes_of(operand.dtype)) * (both_ways ? 2 : 1);
  }
  return bytes;
}

}  // namespace trireme::program
