#include "comm/mpi/buffers.h"

#include <algorithm>
#include <bit>

#include "core/error.h"

namespace trireme::comm::mpi {

Buffers::Block Buffers::take(int64_t bytes) {
  TRIREME_ASSERT(bytes > 0, "a block has a size");
  const auto size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes)));
  auto& free = free_[static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(size)))];
  used_.reserve(used_.size() + 1);
  if (free.empty()) {
    // Not cleared: a message fills it.
    used_.push_back(Memory(new std::byte[static_cast<size_t>(size)]));
  } else {
    used_.push_back(std::move(free.back()));
    free.pop_back();
    kept_ -= size;
  }
  in_use_ += size;
  most_ = std::max(most_, in_use_);
  return {used_.back().get(), size};
}

void Buffers::give(Block block) {
  const auto own = std::find_if(used_.begin(), used_.end(),
                                [&](const Memory& memory) { return memory.get() == block.data; });
  TRIREME_ASSERT(own != used_.end(), "a block is given back once");
  in_use_ -= block.bytes;
  if (in_use_ + kept_ + block.bytes <= 2 * most_) {
    free_[static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(block.bytes)))].push_back(
        std::move(*own));
    kept_ += block.bytes;
  }
  std::swap(*own, used_.back());
  used_.pop_back();
}

}  // namespace trireme::comm::mpi
