#include "parallel/tensor_table.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"

namespace trireme::parallel {
namespace {

int coordinate_on(Axis axis, const Coordinates& at) {
  switch (axis) {
    case Axis::tensor:
      return at.tensor;
    case Axis::data:
      return at.data;
    case Axis::pipeline:
      return at.pipeline;
    case Axis::context:
    case Axis::expert:
      return 0;
  }
  return 0;
}

}  // namespace

TensorId TensorTable::add(Tensor tensor) {
  TRIREME_ASSERT(!find(tensor.name), "tensor names are unique");
  tensors_.push_back(std::move(tensor));
  return TensorId{size() - 1};
}

std::optional<TensorId> TensorTable::find(std::string_view name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const Tensor& t) { return t.name == name; });
  if (found == tensors_.end()) return std::nullopt;
  return TensorId{static_cast<int32_t>(found - tensors_.begin())};
}

bool TensorTable::is_tied(TensorId id) const {
  return (*this)[id].tied_to || std::any_of(tensors_.begin(), tensors_.end(),
                                            [&](const Tensor& t) { return t.tied_to == id; });
}

Slice TensorTable::slice(TensorId id, const Topology& topology, const Coordinates& at) const {
  const Tensor& tensor = (*this)[id];
  Slice slice = {.offset = tensor.shape, .extent = tensor.shape, .storage = tensor.shape};
  for (int dimension = 0; dimension < tensor.shape.rank(); ++dimension) {
    slice.offset.set(dimension, 0);
    const std::optional<Split>& split = tensor.splits[static_cast<size_t>(dimension)];
    if (!split) continue;
    const int64_t whole = tensor.shape[dimension];
    const int64_t stored = std::max(split->padded, whole);
    const int ranks = topology.size(split->axis);
    if (stored % (ranks * split->granule) != 0) {
      fail_usage({.where = format("tensor {}", tensor.name),
                  .what = format("dimension {} of {} in granules of {} over {} ranks", dimension,
                                 stored, split->granule, ranks),
                  .rule = "each rank gets the same number of whole granules",
                  .remedy = "choose another tensor parallel size"});
    }
    const int64_t each = stored / ranks;
    const int64_t first = each * coordinate_on(split->axis, at);
    slice.offset.set(dimension, std::min(first, whole));
    slice.extent.set(dimension, std::clamp<int64_t>(whole - first, 0, each));
    slice.storage.set(dimension, each);
  }
  return slice;
}

int64_t TensorTable::parameters() const {
  int64_t count = 0;
  for (const Tensor& tensor : tensors_) {
    if (!tensor.tied_to) count += tensor.shape.elements();
  }
  return count;
}

}  // namespace trireme::parallel
