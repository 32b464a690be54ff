#include "core/nearest_values.h"

#include <algorithm>

#include "core/format.h"

namespace trireme {

std::string nearest_multiples(int64_t value, int64_t of) {
  const int64_t below = value / of * of;
  return below > 0 ? format("{} or {}", below, below + of) : format("{}", of);
}

std::string nearest_divisors(int64_t value, int64_t of) {
  int64_t below = std::min(value, of);
  while (of % below != 0) --below;
  int64_t above = value;
  while (above < of && of % above != 0) ++above;
  return above > of ? format("{}", below) : format("{} or {}", below, above);
}

}  // namespace trireme
