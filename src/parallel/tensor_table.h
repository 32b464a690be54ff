#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/ids.h"
#include "core/random.h"
#include "core/shape.h"
#include "parallel/topology.h"

namespace trireme::parallel {

/// How a tensor starts.
struct Init {
  enum class Kind { zeros, ones, normal };
  Kind kind = Kind::zeros;
  double deviation = 0;  ///< of the normal
  RandomSite site = RandomSite::init_word_embeddings;
  uint32_t layer = 0;
};

/// How one dimension is cut over an axis: into equal runs of whole granules (a head's rows of q, k
/// and v, say). With padding the dimension is first rounded up to `padded`; the padding is local
/// storage only and exists on no disk.
struct Split {
  Axis axis = Axis::tensor;
  int64_t granule = 1;
  int64_t padded = 0;  ///< 0: no padding
};

/// Which part of the model a tensor belongs to, hence which stage holds it.
struct Place {
  enum class Part { embedding, layer, head };
  Part part = Part::layer;
  int layer = 0;  ///< of Part::layer
};

/// Everything there is to know of one parameter. Written once, by model/.
struct Tensor {
  std::string name;  ///< Megatron-LM's
  Shape shape;       ///< global, without padding
  DType dtype = DType::f32;
  std::array<std::optional<Split>, Shape::kMaxRank> splits =
      {};  ///< per dimension; none: replicated
  Init init = {};
  bool decay = false;                    ///< weight decay applies
  std::optional<TensorId> tied_to = {};  ///< same values as another: own gradient accumulator, no
                                         ///< own state beside its holder
  bool counted_in_norm = true;  ///< false for a tied tensor: its gradient is part of the other's
  Place place = {};
};

/// The part of a tensor that one rank holds, in global coordinates.
struct Slice {
  Shape offset;   ///< of the first element
  Shape extent;   ///< elements that exist; may be 0 where a rank has padding only
  Shape storage;  ///< extent plus padding: the local shape
};

/// The parameters of a model, in the order of the data flow. The single declaration that
/// allocation, sharding, initialisation, optimizer, checkpoint, export and the memory estimate
/// read.
class TensorTable {
 public:
  TensorId add(Tensor tensor);

  [[nodiscard]] int size() const { return static_cast<int>(tensors_.size()); }
  [[nodiscard]] const Tensor& operator[](TensorId id) const {
    return tensors_[static_cast<size_t>(id.value)];
  }
  [[nodiscard]] std::optional<TensorId> find(std::string_view name) const;
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }

  /// Whether another tensor has the same values.
  [[nodiscard]] bool is_tied(TensorId id) const;
  /// What the rank at these coordinates holds of a tensor (if its stage holds it at all).
  [[nodiscard]] Slice slice(TensorId id, const Topology& topology, const Coordinates& at) const;

  /// Elements of all tensors, tied ones once, padding never.
  [[nodiscard]] int64_t parameters() const;

 private:
  std::vector<Tensor> tensors_;
};

/// The table as text; tensors that differ in the layer only are one row.
[[nodiscard]] std::string print(const TensorTable& table);

}  // namespace trireme::parallel
