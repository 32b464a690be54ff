#include "core/shape.h"

#include <algorithm>

#include "core/format.h"

namespace trireme {

Shape::Shape(std::span<const int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  TRIREME_ASSERT(rank_ <= kMaxRank, "a shape has at most four dimensions");
  std::copy(extents.begin(), extents.end(), extents_.begin());
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int i = 0; i < rank_; ++i) product *= extents_[static_cast<size_t>(i)];
  return product;
}

std::string Shape::text() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) text += format("{}{}", i > 0 ? ", " : "", (*this)[i]);
  return text + "]";
}

}  // namespace trireme
