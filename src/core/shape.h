#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "core/error.h"

namespace trireme {

/// Extents of up to four dimensions, outermost first. A value.
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents)
      : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const int64_t> extents);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int64_t operator[](int dimension) const {
    return extents_[static_cast<size_t>(dimension)];
  }
  void set(int dimension, int64_t extent) { extents_[static_cast<size_t>(dimension)] = extent; }
  /// Product of the extents; 1 for rank 0.
  [[nodiscard]] int64_t elements() const;
  /// As in "[2304, 768]".
  [[nodiscard]] std::string text() const;

  bool operator==(const Shape&) const = default;

 private:
  std::array<int64_t, kMaxRank> extents_ = {};
  int rank_ = 0;
};

}  // namespace trireme
