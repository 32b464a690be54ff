#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "core/shape.h"

namespace trireme::checkpoint {

/// What a stored tensor is, whoever holds which part of it. A value.
struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorSpec&) const = default;
  /// As in "f32 [64, 32]".
  [[nodiscard]] std::string text() const;
};

/// The element types that our files hold.
inline constexpr std::array<DType, 6> kStoredDTypes = {DType::f32, DType::bf16, DType::f16,
                                                       DType::f64, DType::i32,  DType::i64};

/// The dtype of a name as name_of() writes it; none for another name.
[[nodiscard]] std::optional<DType> dtype_of(std::string_view name);

/// Bytes of a tensor of this shape without padding; none where an extent is negative or the number
/// is so large (2^60) that it can only be damage.
[[nodiscard]] std::optional<uint64_t> stored_bytes(DType dtype, const Shape& shape);

}  // namespace trireme::checkpoint
