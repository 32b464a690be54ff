#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace trireme::comm::mpi {

/// Memory for messages that came. Blocks are kept for the next ones, so that a program that
/// exchanges the same again and again allocates no more; what is kept and what is in use stay, in
/// sum, below twice the most that was in use at once.
class Buffers {
 public:
  struct Block {
    std::byte* data = nullptr;
    int64_t bytes = 0;  ///< a power of two
  };

  /// bytes > 0.
  [[nodiscard]] Block take(int64_t bytes);
  void give(Block block);
  [[nodiscard]] int64_t in_use() const { return in_use_; }
  [[nodiscard]] int64_t total() const { return in_use_ + kept_; }

 private:
  using Memory = std::unique_ptr<std::byte[]>;
  std::array<std::vector<Memory>, 63> free_;  // by the logarithm of their size
  std::vector<Memory> used_;
  int64_t in_use_ = 0;
  int64_t kept_ = 0;
  int64_t most_ = 0;  // in use at once
};

}  // namespace trireme::comm::mpi
