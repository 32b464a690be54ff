#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "evaluate/passage.h"

namespace trireme::evaluate {

/// Cuts a text into windows that predict each token but the first exactly once.
///
/// A window has `length` positions, so `length` + 1 tokens, and begins `stride` tokens behind the
/// one before. The first counts all it predicts, each other one only what the one before did not
/// reach, its last `stride` tokens; so each of those has at least length - stride + 1 tokens in
/// front of it. The last window may be shorter. A stride of `length` cuts the text into pieces that
/// do not overlap; the smaller it is, the more context, and the longer it takes. The windows refer
/// to the tokens.
///
/// length >= 1, 1 <= stride <= length; fewer than two tokens: no window.
/// Source: as Megatron-LM's --overlapping-eval.
[[nodiscard]] std::vector<Passage> cut_windows(std::span<const int32_t> tokens, int64_t length,
                                               int64_t stride);

}  // namespace trireme::evaluate
