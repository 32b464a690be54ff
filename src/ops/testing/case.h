#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "program/op.h"

namespace trireme::ops::testing {

/// An op with what decides the data it is tried on. Tests run every case on a backend and on the
/// reference; benches run the large ones.
struct Case {
  /// A read operand and a written one that share memory, where the op's contract allows it.
  struct InPlace {
    int read = 0;
    int write = 0;
  };

  std::string name = {};  ///< the op's name and what is special, as in "layer_norm 7 x 65"
  program::OpSpec op = {};
  int64_t id_limit = 0;     ///< tokens, labels, positions, cache lengths are in [0, id_limit)
  bool documents = false;   ///< sequences hold several documents, kept apart by segment_starts
  bool accumulate = false;  ///< Arguments::accumulate
  std::optional<InPlace> in_place = {};
  uint32_t layer = 0;
};

/// Every op kind but the collectives over its awkward sizes: one row, one column, odd sizes, sizes
/// around a vector's and a tile's, several sequences and documents, shards of a vocabulary with
/// padding, each dropout probability. Milliseconds each on the reference.
[[nodiscard]] std::vector<Case> cases_for_tests();

/// The ops of one GPT-2 124M layer, its embedding, head and optimizer step at b = 4, s = 256.
/// Seconds to minutes each on the reference.
[[nodiscard]] std::vector<Case> cases_for_bench();

/// The operands of an op in host memory, in the op's order.
class HostOperands {
 public:
  explicit HostOperands(const program::OpSpec& op);

  [[nodiscard]] const std::vector<program::Operand>& declared() const { return declared_; }
  [[nodiscard]] int count() const { return static_cast<int>(declared_.size()); }
  [[nodiscard]] std::span<std::byte> bytes(int operand) { return at(operand); }
  [[nodiscard]] std::span<const std::byte> bytes(int operand) const {
    return storage_[static_cast<size_t>(operand)];
  }
  /// Elements of an operand whose dtype is stored as T.
  template <class T>
  [[nodiscard]] std::span<T> as(int operand) {
    return {reinterpret_cast<T*>(at(operand).data()), at(operand).size() / sizeof(T)};
  }
  template <class T>
  [[nodiscard]] std::span<const T> as(int operand) const {
    const std::span<const std::byte> b = bytes(operand);
    return {reinterpret_cast<const T*>(b.data()), b.size() / sizeof(T)};
  }
  /// Addresses as a kernel gets them: null where an operand has no elements.
  [[nodiscard]] std::vector<void*> addresses();

 private:
  [[nodiscard]] std::vector<std::byte>& at(int operand) {
    return storage_[static_cast<size_t>(operand)];
  }
  std::vector<program::Operand> declared_;
  std::vector<std::vector<std::byte>> storage_;
};

/// True when something of what the operand holds before the op runs is needed by it or left behind
/// it; otherwise the op must not look at it.
[[nodiscard]] bool is_input(const program::Operand& operand, bool accumulate);

/// What the operands of a case hold before it runs: floats near a standard normal, ids within their
/// range (also of other ranks' shards), saved values (mean, lse, maximum, ...) that fit the other
/// operands. What is not an input is all bits set: NaN, so that using it shows.
[[nodiscard]] HostOperands inputs_of(const Case& c);

}  // namespace trireme::ops::testing
