#pragma once
#include <cstdint>
#include <string>

// What a remedy offers instead of a number that is not possible.

namespace trireme {

/// The multiples of `of` around a number that is none, "24 or 32"; below `of` only that itself.
[[nodiscard]] std::string nearest_multiples(int64_t value, int64_t of);

/// The divisors of `of` around a number that is none, "4 or 6"; above `of` only that itself.
[[nodiscard]] std::string nearest_divisors(int64_t value, int64_t of);

}  // namespace trireme
