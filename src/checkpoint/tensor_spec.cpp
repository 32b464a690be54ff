#include "checkpoint/tensor_spec.h"

#include <algorithm>

#include "core/format.h"

namespace trireme::checkpoint {

std::string TensorSpec::text() const {
  return format("{} {}", name_of(dtype), shape.text());
}

std::optional<DType> dtype_of(std::string_view name) {
  for (const DType dtype : kStoredDTypes) {
    if (name_of(dtype) == name) return dtype;
  }
  return std::nullopt;
}

std::optional<uint64_t> stored_bytes(DType dtype, const Shape& shape) {
  constexpr int64_t kMost = int64_t{1} << 60;
  // An extent of 0 must not hide the others: strides are products of them.
  int64_t product = bytes_of(dtype);
  bool empty = false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 0) return std::nullopt;
    empty = empty || shape[i] == 0;
    const int64_t extent = std::max<int64_t>(shape[i], 1);
    if (product > kMost / extent) return std::nullopt;
    product *= extent;
  }
  return empty ? 0 : static_cast<uint64_t>(product);
}

}  // namespace trireme::checkpoint
