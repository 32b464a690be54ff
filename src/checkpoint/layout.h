#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/shape.h"
#include "parallel/tensor_table.h"

namespace trireme::checkpoint {

/// A box of a tensor in global coordinates. No padding: padding exists on no disk.
struct Region {
  Shape offset;  ///< of the first element
  Shape extent;  ///< may be 0 in any dimension: an empty region
  bool operator==(const Region&) const = default;

  [[nodiscard]] int64_t elements() const { return extent.elements(); }
  /// As in "[24:48,0:8]"; "[]" for rank 0.
  [[nodiscard]] std::string text() const;
};

/// The tensor whole; what a rank holds of it, padding left out.
[[nodiscard]] Region whole(const Shape& shape);
[[nodiscard]] Region region_of(const parallel::Slice& slice);

/// Whether, of the ranks that hold the same slice of a tensor, the one at these coordinates stores
/// it: the first on every axis over which the tensor is not cut. (Which stage holds it, if it is
/// tied, is the caller's knowledge.)
[[nodiscard]] bool stores(const parallel::Tensor& tensor, const parallel::Coordinates& at);

/// Whether the region lies in a tensor of this shape. Numbers may be anything.
[[nodiscard]] bool lies_in(const Region& region, const Shape& shape);

/// What two regions of one tensor share; none where that is empty.
[[nodiscard]] std::optional<Region> intersection(const Region& a, const Region& b);

/// One box to copy from a stored region into a wanted one. Positions are local: counted from the
/// first element of the one and of the other.
struct Copy {
  size_t source = 0;  ///< index of the stored region
  Shape extent;
  Shape from;  ///< in the stored region
  Shape to;    ///< in the wanted region
};

/// How to assemble a wanted region from stored ones, which may be cut in any other way. All regions
/// have the wanted one's rank. Throws, with the tensor named, unless the stored regions cover every
/// element of the wanted one exactly once. An empty region wants nothing.
/// where: for messages, as in "CK/iter_0000100: tensor w".
[[nodiscard]] std::vector<Copy> cover(const Region& wanted, std::span<const Region> stored,
                                      const std::string& where);

/// Copies one box between row-major arrays. from, to: whole arrays of these shapes, at any
/// alignment; the destination's shape may have padding beyond the region (Slice::storage).
void copy_box(const Copy& copy, std::span<const std::byte> from, const Shape& from_shape,
              std::span<std::byte> to, const Shape& to_shape, int64_t element_bytes);

}  // namespace trireme::checkpoint
