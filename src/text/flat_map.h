#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/error.h"

namespace trireme::text {

/// A pair of token ids as one key.
[[nodiscard]] constexpr uint64_t pair_key(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

/// Hash map from pair keys to small values, in one array with linear probing, kept at most half
/// full. The two most frequent questions of BPE are lookups here, and most of them find nothing.
/// Keys are never removed.
template <class Value>
class FlatMap {
 public:
  /// Holds `count` keys without growing.
  explicit FlatMap(size_t count = 0) { allocate(count); }

  [[nodiscard]] size_t size() const { return size_; }

  /// The value of the key, or null. Valid until the next insertion.
  [[nodiscard]] const Value* find(uint64_t key) const {
    const Slot& slot = slots_[place(key)];
    return slot.key == key ? &slot.value : nullptr;
  }

  /// The value of the key, made with Value() when it is new. Valid until the next insertion.
  Value& operator[](uint64_t key) {
    TRIREME_ASSERT(key != kEmpty, "this key marks an empty slot");
    Slot* slot = &slots_[place(key)];
    if (slot->key == key) return slot->value;
    if (2 * (size_ + 1) > slots_.size()) {
      grow();
      slot = &slots_[place(key)];
    }
    slot->key = key;
    ++size_;
    return slot->value;
  }

 private:
  static constexpr uint64_t kEmpty = UINT64_MAX;
  struct Slot {
    uint64_t key = kEmpty;
    Value value = {};
  };

  // Multiplication by the golden ratio; the upper bits are the well mixed ones.
  [[nodiscard]] size_t place(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (key ^ key >> 32) * 0x9E3779B97F4A7C15U >> shift_;
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask;
    return at;
  }

  void allocate(size_t count) {
    size_t slots = 16;
    shift_ = 60;
    for (; slots < 2 * count; slots *= 2) --shift_;
    slots_ = std::vector<Slot>(slots);
  }

  void grow() {
    std::vector<Slot> old = std::move(slots_);
    allocate(old.size());
    for (Slot& slot : old) {
      if (slot.key != kEmpty) slots_[place(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
  int shift_ = 0;
};

}  // namespace trireme::text
