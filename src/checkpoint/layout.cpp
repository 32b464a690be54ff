#include "checkpoint/layout.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/format.h"

namespace trireme::checkpoint {
namespace {

Shape minus(const Shape& a, const Shape& b) {
  Shape difference = a;
  for (int i = 0; i < a.rank(); ++i) difference.set(i, a[i] - b[i]);
  return difference;
}

/// A stored region's part in the wanted one.
struct Shared {
  Region region;
  size_t source = 0;
};

void require_no_element_twice(std::vector<Shared> parts, const std::string& where) {
  if (parts.empty()) return;
  if (parts[0].region.extent.rank() > 0) {
    // Along the first dimension, so that the inner loop ends early.
    std::sort(parts.begin(), parts.end(), [](const Shared& a, const Shared& b) {
      return a.region.offset[0] < b.region.offset[0];
    });
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const Region& a = parts[i].region;
    for (size_t j = i + 1; j < parts.size(); ++j) {
      const Region& b = parts[j].region;
      if (a.offset.rank() > 0 && b.offset[0] >= a.offset[0] + a.extent[0]) break;
      if (const auto both = intersection(a, b)) {
        fail({.where = where,
              .what = format("elements {} are stored more than once", both->text()),
              .rule = "each element of a tensor is stored once"});
      }
    }
  }
}

}  // namespace

std::string Region::text() const {
  std::string text = "[";
  for (int i = 0; i < extent.rank(); ++i)
    text += format("{}{}:{}", i > 0 ? "," : "", offset[i], offset[i] + extent[i]);
  return text + "]";
}

Region whole(const Shape& shape) {
  return {.offset = minus(shape, shape), .extent = shape};
}

Region region_of(const parallel::Slice& slice) {
  return {.offset = slice.offset, .extent = slice.extent};
}

bool stores(const parallel::Tensor& tensor, const parallel::Coordinates& at) {
  const auto cut_over = [&](Axis axis) {
    return std::any_of(tensor.splits.begin(), tensor.splits.end(),
                       [&](const auto& split) { return split && split->axis == axis; });
  };
  return (at.tensor == 0 || cut_over(Axis::tensor)) && (at.data == 0 || cut_over(Axis::data));
}

bool lies_in(const Region& region, const Shape& shape) {
  if (region.offset.rank() != shape.rank() || region.extent.rank() != shape.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool inside = region.offset[i] >= 0 && region.extent[i] >= 0 &&
                        region.offset[i] <= shape[i] &&
                        region.extent[i] <= shape[i] - region.offset[i];
    if (!inside) return false;
  }
  return true;
}

std::optional<Region> intersection(const Region& a, const Region& b) {
  Region both = a;
  for (int i = 0; i < a.offset.rank(); ++i) {
    const int64_t begin = std::max(a.offset[i], b.offset[i]);
    const int64_t end = std::min(a.offset[i] + a.extent[i], b.offset[i] + b.extent[i]);
    if (begin >= end) return std::nullopt;
    both.offset.set(i, begin);
    both.extent.set(i, end - begin);
  }
  return both;
}

std::vector<Copy> cover(const Region& wanted, std::span<const Region> stored,
                        const std::string& where) {
  std::vector<Shared> parts;
  int64_t covered = 0;
  for (size_t i = 0; i < stored.size(); ++i) {
    TRIREME_ASSERT(stored[i].offset.rank() == wanted.offset.rank(), "regions of one tensor");
    if (const auto both = intersection(wanted, stored[i])) {
      parts.push_back({.region = *both, .source = i});
      covered += both->elements();
    }
  }
  require_no_element_twice(parts, where);
  if (covered != wanted.elements()) {
    fail({.where = where,
          .what = format("of the {} elements {} only {} are stored", wanted.elements(),
                         wanted.text(), covered),
          .rule = "each element of a tensor is stored once"});
  }
  std::vector<Copy> copies;
  copies.reserve(parts.size());
  for (const Shared& part : parts) {
    copies.push_back({.source = part.source,
                      .extent = part.region.extent,
                      .from = minus(part.region.offset, stored[part.source].offset),
                      .to = minus(part.region.offset, wanted.offset)});
  }
  return copies;
}

void copy_box(const Copy& copy, std::span<const std::byte> from, const Shape& from_shape,
              std::span<std::byte> to, const Shape& to_shape, int64_t element_bytes) {
  const int rank = copy.extent.rank();
  TRIREME_ASSERT(static_cast<int64_t>(from.size()) == from_shape.elements() * element_bytes &&
                     static_cast<int64_t>(to.size()) == to_shape.elements() * element_bytes,
                 "a box is copied between whole arrays");
  TRIREME_ASSERT(lies_in({.offset = copy.from, .extent = copy.extent}, from_shape) &&
                     lies_in({.offset = copy.to, .extent = copy.extent}, to_shape),
                 "a box lies in both arrays");
  if (copy.extent.elements() == 0) return;

  // Dimensions [outer, rank) are one run in both arrays.
  int outer = std::max(rank - 1, 0);
  while (outer > 0 && copy.extent[outer] == from_shape[outer] &&
         copy.extent[outer] == to_shape[outer])
    --outer;
  int64_t run_bytes = element_bytes;
  for (int i = outer; i < rank; ++i) run_bytes *= copy.extent[i];

  const auto place = [&](const Shape& shape, const Shape& first, const Shape& at) {
    int64_t index = 0;
    for (int i = 0; i < rank; ++i) index = index * shape[i] + first[i] + at[i];
    return static_cast<size_t>(index * element_bytes);
  };
  Shape at = minus(copy.extent, copy.extent);
  for (;;) {
    std::memcpy(to.data() + place(to_shape, copy.to, at),
                from.data() + place(from_shape, copy.from, at), static_cast<size_t>(run_bytes));
    int i = outer - 1;
    for (; i >= 0 && at[i] + 1 == copy.extent[i]; --i) at.set(i, 0);
    if (i < 0) return;
    at.set(i, at[i] + 1);
  }
}

}  // namespace trireme::checkpoint
