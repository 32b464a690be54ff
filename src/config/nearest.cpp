#include "config/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace trireme::config {

int edit_distance(std::string_view a, std::string_view b) {
  // Rows of the distance table: before[j] and now[j] turn the first i - 1 and i letters of a into
  // the first j of b; earlier is row i - 2, for swaps.
  std::vector<int> earlier;
  std::vector<int> before(b.size() + 1);
  std::iota(before.begin(), before.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<int> now(b.size() + 1);
    now[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({before[j] + 1, now[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], earlier[j - 2] + 1);
      }
    }
    earlier = std::move(before);
    before = std::move(now);
  }
  return before.back();
}

std::optional<std::string> nearest(std::string_view name, std::span<const std::string> known) {
  const std::string* best = nullptr;
  int best_distance = 0;
  for (const std::string& candidate : known) {
    const int distance = edit_distance(name, candidate);
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) return std::nullopt;
  const auto longest = static_cast<int>(std::max(name.size(), best->size()));
  if (2 * best_distance > longest) return std::nullopt;
  return *best;
}

}  // namespace trireme::config
