#include "ops/cpu/strips.h"

#include <algorithm>

#include "program/op/product.h"

namespace trireme::ops::cpu {
namespace {

// What a task does beside its multiply-adds, per term, in multiply-adds of one core's full rate (60
// of them take a nanosecond): packing a line of the strip, and reading one of the others once more.
// Measured on Zen 4 with other work on the machine.
constexpr double kPackingCost = 20;
constexpr double kReadingCost = 8;
// How much of a task the slowest thread ends behind the others.
constexpr double kLateness = 0.5;
// A part is whole groups of rows.
constexpr int64_t kPartStep = 96;
constexpr int64_t kMostParts = 64;

int64_t pieces(int64_t extent, int64_t piece) {
  return (extent + piece - 1) / piece;
}

}  // namespace

StripCut cut_strips(int64_t packed, int64_t others, int threads) {
  StripCut best;
  double best_cost = 0;
  int64_t last_part = 0;
  for (int64_t parts = 1; parts <= kMostParts; ++parts) {
    const int64_t part = pieces(pieces(std::max<int64_t>(others, 1), parts), kPartStep) * kPartStep;
    if (part == last_part) continue;
    last_part = part;
    for (int64_t strip = program::kProductPanel; strip <= program::kProductStrip;
         strip += program::kProductPanel) {
      const int64_t tasks = pieces(packed, strip) * pieces(std::max<int64_t>(others, 1), part);
      const auto rounds = static_cast<double>(pieces(tasks, threads));
      const auto m = static_cast<double>(std::min(strip, packed));
      const auto n = static_cast<double>(others == 0 ? kPartStep * 8 : std::min(part, others));
      const double cost = (rounds + kLateness) * (m * n + kPackingCost * m + kReadingCost * n);
      if (best_cost == 0 || cost < best_cost) {
        best_cost = cost;
        best = {strip, part};
      }
    }
    if (others == 0) break;
  }
  return best;
}

}  // namespace trireme::ops::cpu
