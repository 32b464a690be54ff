#pragma once
#include <cstdint>
#include <span>

#include "program/op/collective.h"

namespace trireme::comm {

// The arithmetic of collectives, the same on every CPU transport: rank r joins slice r of all
// buffers in the order of the ranks, then everybody gets it from r. Slices depend on size and
// number of ranks alone. So bits depend neither on transports nor on when messages come.

/// Where slice r begins by default, r in [0, ranks]: slices are as equal as cache lines allow.
[[nodiscard]] int64_t cut(int64_t bytes, int ranks, int r);

/// Slices travel in pieces of this size, the last one shorter, so that one piece is joined and
/// handed on while the next one comes; small enough for a core's cache.
inline constexpr int64_t kPieceBytes = 256 << 10;

[[nodiscard]] constexpr int64_t pieces_of(int64_t bytes) {
  return (bytes + kPieceBytes - 1) / kPieceBytes;
}

/// out[i] = ((sources[0][i] + sources[1][i]) + sources[2][i]) + ..., in fp32; or the largest, NaN
/// where there is one. out may be one of the sources.
void join(float* out, std::span<const float* const> sources, int64_t elements,
          program::Reduction reduction);

}  // namespace trireme::comm
