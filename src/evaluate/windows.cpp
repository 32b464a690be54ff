#include "evaluate/windows.h"

#include <algorithm>

#include "core/error.h"

namespace trireme::evaluate {

std::vector<Passage> cut_windows(std::span<const int32_t> tokens, int64_t length, int64_t stride) {
  TRIREME_ASSERT(length >= 1 && stride >= 1 && stride <= length, "windows leave no gap");
  const auto count = static_cast<int64_t>(tokens.size());
  std::vector<Passage> windows;
  int64_t reached = 1;  // tokens in front of it are predicted, or the first
  for (int64_t begin = 0; reached < count; begin += stride) {
    const int64_t end = std::min(begin + length + 1, count);
    windows.push_back(
        {.tokens = tokens.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
         .first_counted = reached - begin});
    reached = end;
  }
  return windows;
}

}  // namespace trireme::evaluate
