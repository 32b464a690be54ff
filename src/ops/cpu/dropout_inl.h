// Dropout for the CPU kernels, once per kind of vector unit: the numbers of the random format,
// drawn for two vectors of elements at a time.
#if defined(TRIREME_OPS_CPU_DROPOUT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIREME_OPS_CPU_DROPOUT_INL_H
#undef TRIREME_OPS_CPU_DROPOUT_INL_H
#else
#define TRIREME_OPS_CPU_DROPOUT_INL_H
#endif

#include <array>

#include "core/random.h"
#include "ops/cpu/vector_inl.h"
#include "ops/kernel.h"
#include "program/operand.h"

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

/// The dropout of one place, layer and sample.
class Dropper {
 public:
  Dropper(const program::Dropout& dropout, int32_t seed, uint32_t layer, int64_t sample)
      : stream_{.seed = static_cast<uint32_t>(seed),
                .site = dropout.site,
                .layer = layer,
                .sample = static_cast<uint64_t>(sample)},
        threshold_(drop_threshold(dropout.probability)),
        scale_(static_cast<float>(1 / (1 - dropout.probability))) {}

  /// 1 / (1 - p).
  [[nodiscard]] float scale() const { return scale_; }

  /// Bits of the elements 4 block .. 4 block + 2 kLanes - 1.
  HWY_INLINE void draw(int64_t block, WordVector& first, WordVector& second) const {
    // 64-bit lanes hold one block each, its numbers in their lower halves; what collects in the
    // upper halves is never read.
    constexpr Longs kLongs;
    const LongVector offsets = hn::Load(kLongs, kBlockOffsets.data());
    LongVector c0 = hn::Add(hn::Set(kLongs, static_cast<uint64_t>(block)), offsets);
    LongVector c1 = hn::ShiftRight<32>(c0);
    LongVector c2 =
        hn::Set(kLongs, uint64_t{stream_.layer | static_cast<uint32_t>(stream_.sample << 24)});
    LongVector c3 = hn::Set(kLongs, uint64_t{static_cast<uint32_t>(stream_.sample >> 8)});
    uint32_t key0 = stream_.seed;
    auto key1 = static_cast<uint32_t>(stream_.site);
    for (int round = 0; round < 10; ++round) {
      const LongVector a = times(c0, 0xD2511F53);
      const LongVector b = times(c2, 0xCD9E8D57);
      c0 = hn::Xor3(hn::ShiftRight<32>(b), c1, hn::Set(kLongs, uint64_t{key0}));
      c1 = b;
      c2 = hn::Xor3(hn::ShiftRight<32>(a), c3, hn::Set(kLongs, uint64_t{key1}));
      c3 = a;
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    const LongVector low = hn::Set(kLongs, uint64_t{0xFFFFFFFF});
    const LongVector numbers01 = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
    const LongVector numbers23 = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
    first = hn::BitCast(kWords, hn::InterleaveLower(kLongs, numbers01, numbers23));
    second = hn::BitCast(kWords, hn::InterleaveUpper(kLongs, numbers01, numbers23));
  }

  /// Lanes whose element is dropped.
  [[nodiscard]] HWY_INLINE auto drops(WordVector bits) const {
    return hn::RebindMask(kFloats, hn::Lt(bits, hn::Set(kWords, threshold_)));
  }
  /// v where the element is kept, zero where it is dropped.
  HWY_INLINE FloatVector keep(WordVector bits, FloatVector v) const {
    return hn::IfThenZeroElse(drops(bits), v);
  }
  HWY_INLINE FloatVector keep_scaled(WordVector bits, FloatVector v) const {
    return keep(bits, hn::Mul(v, hn::Set(kFloats, scale_)));
  }

 private:
  using Longs = hn::RepartitionToWide<Words>;
  using LongVector = hn::Vec<Longs>;

  // Even lanes take the first half of the blocks and odd lanes the second, so that interleaving
  // puts the elements in order.
  static constexpr auto kBlocks = static_cast<size_t>(kLanes) / 2;
  alignas(64) static constexpr std::array<uint64_t, kBlocks> kBlockOffsets = [] {
    std::array<uint64_t, kBlocks> offsets = {};
    for (size_t lane = 0; lane < kBlocks; ++lane) offsets[lane] = lane / 2 + lane % 2 * kBlocks / 2;
    return offsets;
  }();

  // 64-bit products of the lower halves.
  static HWY_INLINE LongVector times(LongVector a, uint32_t factor) {
    return hn::MulEven(hn::BitCast(kWords, a), hn::Set(kWords, factor));
  }

  RandomStream stream_;
  uint32_t threshold_;
  float scale_;
};

/// Walks a row of n elements whose first is element 4 block of its sample: body(lanes, i, bits).
template <class Body>
HWY_INLINE void over_row_with_bits(int64_t n, const Dropper& dropper, int64_t block,
                                   const Body& body) {
  WordVector first;
  WordVector second;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    dropper.draw(block + i / 4, first, second);
    body(Whole(), i, first);
    body(Whole(), i + kLanes, second);
  }
  if (i == n) return;
  dropper.draw(block + i / 4, first, second);
  if (i + kLanes <= n) {
    body(Whole(), i, first);
    i += kLanes;
    first = second;
  }
  if (i < n) body(Part{static_cast<size_t>(n - i)}, i, first);
}

/// The block of a row's first element. Rows of [s, b, h] are numbered position x b + sequence; the
/// random format counts a sample's elements by position x random_row(h) + column.
template <class Op>
HWY_INLINE int64_t random_block(const Op& op, int64_t row) {
  return row / op.sequences * (random_row(op.hidden) / 4);
}

/// The dropout of a row of [s, b, h].
template <class Op>
HWY_INLINE Dropper row_dropper(const Op& op, const Arguments& arguments, int64_t row) {
  return {op.dropout, *arguments.pointer<const int32_t>(op.kSeed), arguments.layer,
          arguments.pointer<const int64_t>(op.kSamples)[row % op.sequences]};
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();
#endif
