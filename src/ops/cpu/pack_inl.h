// Packing: the lines of a factor, side by side in panels, so that the innermost loop reads memory
// in order. Once per kind of vector unit.
#if defined(TRIREME_OPS_CPU_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIREME_OPS_CPU_PACK_INL_H
#undef TRIREME_OPS_CPU_PACK_INL_H
#else
#define TRIREME_OPS_CPU_PACK_INL_H
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "ops/cpu/multiply.h"
#include "ops/cpu/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

using Four = hn::FixedTag<float, 4>;
constexpr Four kFour;

// Four terms of four lines: to[term width + line] = from[line stride + term].
HWY_INLINE void transpose_four(const float* from, int64_t stride, float* to, int64_t width) {
  const hn::FixedTag<double, 2> pairs;
  const auto line0 = hn::LoadU(kFour, from);
  const auto line1 = hn::LoadU(kFour, from + stride);
  const auto line2 = hn::LoadU(kFour, from + 2 * stride);
  const auto line3 = hn::LoadU(kFour, from + 3 * stride);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(kFour, line0, line1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(kFour, line2, line3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(kFour, line0, line1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(kFour, line2, line3));
  hn::StoreU(hn::BitCast(kFour, hn::InterleaveLower(pairs, low01, low23)), kFour, to);
  hn::StoreU(hn::BitCast(kFour, hn::InterleaveUpper(pairs, low01, low23)), kFour, to + width);
  hn::StoreU(hn::BitCast(kFour, hn::InterleaveLower(pairs, high01, high23)), kFour, to + 2 * width);
  hn::StoreU(hn::BitCast(kFour, hn::InterleaveUpper(pairs, high01, high23)), kFour, to + 3 * width);
}

// A panel of lines that are stored one after the other: up to Width of them, the others zero.
template <int64_t Width>
HWY_INLINE void pack_stored_lines(const float* from, int64_t stride, int64_t lines, int64_t terms,
                                  float* to) {
  constexpr int64_t kStep = 16;  // terms of a cache line
  // The processor does not see where the next lines will be read: they lie on other pages. Narrow
  // panels go by so quickly that a whole one has to be asked for ahead.
  const int64_t ahead = Width < 16 ? terms : 2 * kStep;
  const int64_t whole_lines = lines / 4 * 4;
  for (int64_t first = 0; first < terms; first += kStep) {
    const int64_t end = std::min(first + kStep, terms);
    const int64_t whole_end = first + (end - first) / 4 * 4;
    const bool next_panel = first + ahead >= terms;
    const float* soon = from + first + ahead + (next_panel ? Width * stride - terms : 0);
    for (int64_t line = 0; line < whole_lines; line += 4) {
      for (int64_t i = 0; i < 4; ++i) hwy::Prefetch(soon + (line + i) * stride);
      const float* source = from + line * stride;
      int64_t term = first;
      for (; term < whole_end; term += 4) {
        transpose_four(source + term, stride, to + term * Width + line, Width);
      }
      for (; term < end; ++term) {
        for (int64_t i = 0; i < 4; ++i) to[term * Width + line + i] = source[i * stride + term];
      }
    }
    for (int64_t line = whole_lines; line < Width; ++line) {
      for (int64_t term = first; term < end; ++term) {
        to[term * Width + line] = line < lines ? from[line * stride + term] : 0.0F;
      }
    }
  }
}

// Panels of lines whose elements of one term are stored side by side.
template <int64_t Width>
HWY_INLINE void pack_stored_terms(const float* from, int64_t stride, int64_t lines, int64_t terms,
                                  float* to) {
  constexpr int64_t kAhead = 8;                  // stored rows lie on different pages
  constexpr int64_t kGroup = 4 * kProductPanel;  // read in one go, so that pages are visited seldom
  for (int64_t group = 0; group < lines; group += kGroup) {
    const int64_t group_end = std::min(group + kGroup, lines);
    for (int64_t term = 0; term < terms; ++term) {
      const float* source = from + term * stride;
      for (int64_t i = group; i < group_end; i += 16) hwy::Prefetch(source + kAhead * stride + i);
      int64_t line = group;
      for (; line + Width <= group_end; line += Width) {
        float* panel = to + line * terms + term * Width;
#pragma GCC unroll 16
        for (int64_t i = 0; i < Width; i += 4) {
          hn::StoreU(hn::LoadU(kFour, source + line + i), kFour, panel + i);
        }
      }
      if (line < group_end) {
        float* panel = to + line * terms + term * Width;
        for (int64_t i = 0; i < Width; ++i) {
          panel[i] = line + i < group_end ? source[line + i] : 0.0F;
        }
      }
    }
  }
}

/// Packs `terms` terms of `lines` lines of a factor into panels of Width lines: element (line,
/// term) goes to to[line / Width][term][line % Width]. Lines missing in the last panel are zero.
template <int64_t Width>
HWY_NOINLINE void pack(const Factor& factor, int64_t first_line, int64_t lines, int64_t first_term,
                       int64_t terms, float* to) {
  if (factor.by_term) {
    pack_stored_terms<Width>(factor.data + first_term * factor.stride + first_line, factor.stride,
                             lines, terms, to);
    return;
  }
  for (int64_t line = 0; line < lines; line += Width) {
    pack_stored_lines<Width>(factor.data + (first_line + line) * factor.stride + first_term,
                             factor.stride, std::min(Width, lines - line), terms,
                             to + line * terms);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();
#endif
