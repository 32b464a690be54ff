#pragma once
#include <cstdint>
#include <string_view>

#include "core/error.h"

namespace trireme {

/// Element types of values. i32 is for token ids and positions, f64 for sums that must be exact
/// enough.
enum class DType : uint8_t { f32, bf16, f16, f64, i32, i64 };

[[nodiscard]] constexpr int64_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::f64:
    case DType::i64:
      return 8;
  }
  return 0;
}

[[nodiscard]] constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::f64:
      return "f64";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
  }
  return "?";
}

}  // namespace trireme
