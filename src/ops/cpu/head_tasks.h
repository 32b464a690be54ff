#pragma once
#include <algorithm>
#include <cstdint>

#include "program/op/attention.h"

namespace trireme::ops::cpu {

/// Positions that one task covers where a head is cut.
inline constexpr int64_t kAttentionChunk = 6 * program::kAttentionTile;

/// The heads of all sequences cut into tasks: as many whole heads as the threads share out evenly,
/// each of the others in chunks of positions. A chunk's arithmetic does not depend on the cut.
class HeadTasks {
 public:
  HeadTasks(const program::AttentionSizes& op, int threads)
      : heads_(op.heads),
        length_(op.length),
        chunks_((op.length + kAttentionChunk - 1) / kAttentionChunk) {
    const int64_t all = op.sequences * op.heads;
    whole_ = chunks_ == 1 ? all : all / threads * threads;
    cut_ = all - whole_;
  }

  [[nodiscard]] int64_t count() const { return whole_ + cut_ * chunks_; }

  struct Task {
    int64_t sequence, head;
    int64_t begin, end;  // positions
  };
  /// Chunks of one head come in ascending order, those of all heads in turns.
  [[nodiscard]] Task operator[](int64_t index) const {
    if (index < whole_) return {index / heads_, index % heads_, 0, length_};
    const int64_t at = whole_ + (index - whole_) % cut_;
    const int64_t begin = (index - whole_) / cut_ * kAttentionChunk;
    return {at / heads_, at % heads_, begin, std::min(begin + kAttentionChunk, length_)};
  }

 private:
  int64_t heads_, length_, chunks_;
  int64_t whole_;  // heads
  int64_t cut_;    // heads
};

/// The vectors of one head of one sequence within [s, b, heads, parts, head_dim].
template <class T>
struct HeadVectors {
  T* data;
  int64_t stride;
  HeadVectors(T* all, const program::AttentionSizes& op, const HeadTasks::Task& task,
              int64_t parts = 1, int64_t part = 0)
      : data(all + ((task.sequence * op.heads + task.head) * parts + part) * op.head_dim),
        stride(op.sequences * op.heads * parts * op.head_dim) {}
  [[nodiscard]] T* at(int64_t position) const { return data + position * stride; }
};

}  // namespace trireme::ops::cpu
