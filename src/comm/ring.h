#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace trireme::comm {

/// A queue that keeps its memory: once it was as long as it gets, it allocates no more.
template <class T>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] T& front() { return at(0); }
  [[nodiscard]] T& at(size_t index) { return items_[(first_ + index) % items_.size()]; }

  void reserve(size_t count) {
    if (count > items_.size()) grow_to(count);
  }
  void push(T item) {
    if (count_ == items_.size()) grow_to(items_.empty() ? 8 : 2 * items_.size());
    at(count_++) = std::move(item);
  }
  void pop() {
    first_ = (first_ + 1) % items_.size();
    --count_;
  }

 private:
  void grow_to(size_t size) {
    std::vector<T> wider(size);
    for (size_t i = 0; i < count_; ++i) wider[i] = std::move(at(i));
    items_.swap(wider);
    first_ = 0;
  }

  std::vector<T> items_;
  size_t first_ = 0;
  size_t count_ = 0;
};

}  // namespace trireme::comm
