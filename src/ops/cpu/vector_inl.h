// What the CPU kernels share, once per kind of vector unit (hence the toggled guard): loads and
// stores of part of a vector, walks over a row, fixed-order row sums, exp.
#if defined(TRIREME_OPS_CPU_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIREME_OPS_CPU_VECTOR_INL_H
#undef TRIREME_OPS_CPU_VECTOR_INL_H
#else
#define TRIREME_OPS_CPU_VECTOR_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Words = hn::RebindToUnsigned<Floats>;  // 32 bits
using Integers = hn::RebindToSigned<Floats>;
using FloatVector = hn::Vec<Floats>;
using WordVector = hn::Vec<Words>;

constexpr Floats kFloats;
constexpr Words kWords;
constexpr Integers kIntegers;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));

// From a table: hn::Iota builds its vector lane by lane.
alignas(64) constexpr int32_t kLaneNumbers[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                8, 9, 10, 11, 12, 13, 14, 15};
static_assert(kLanes <= 16);
HWY_INLINE hn::Vec<Integers> lane_numbers() {
  return hn::Load(kIntegers, kLaneNumbers);
}

// How a row's kernel reads and writes the vector at hand: a whole one, or the first `count` lanes
// of the row's last. The same vector arithmetic serves both, so an element's bits do not depend on
// where in a row it lies.
struct Whole {
  HWY_INLINE FloatVector load(const float* from) const { return hn::LoadU(kFloats, from); }
  HWY_INLINE void store(FloatVector v, float* to) const { hn::StoreU(v, kFloats, to); }
  HWY_INLINE FloatVector or_zero(FloatVector v) const { return v; }
  HWY_INLINE FloatVector or_else(FloatVector v, FloatVector) const { return v; }
};

struct Part {
  size_t count;
  /// Lanes past the end are zero.
  HWY_INLINE FloatVector load(const float* from) const {
#if HWY_MEM_OPS_MIGHT_FAULT
    HWY_ALIGN float lanes[static_cast<size_t>(kLanes)] = {};
    std::memcpy(lanes, from, count * sizeof(float));
    return hn::Load(kFloats, lanes);
#else
    return hn::MaskedLoad(hn::FirstN(kFloats, count), kFloats, from);
#endif
  }
  HWY_INLINE void store(FloatVector v, float* to) const {
#if HWY_MEM_OPS_MIGHT_FAULT
    HWY_ALIGN float lanes[static_cast<size_t>(kLanes)];
    hn::Store(v, kFloats, lanes);
    std::memcpy(to, lanes, count * sizeof(float));
#else
    hn::BlendedStore(v, hn::FirstN(kFloats, count), kFloats, to);
#endif
  }
  HWY_INLINE FloatVector or_zero(FloatVector v) const {
    return hn::IfThenElseZero(hn::FirstN(kFloats, count), v);
  }
  HWY_INLINE FloatVector or_else(FloatVector v, FloatVector other) const {
    return hn::IfThenElse(hn::FirstN(kFloats, count), v, other);
  }
};

/// body(lanes, i) for the vectors of [0, n), lanes a Whole or a Part.
template <class Body>
HWY_INLINE void over_row(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(Whole(), i);
  if (i < n) body(Part{static_cast<size_t>(n - i)}, i);
}

/// Sum over [0, n) of the lanes of term(lanes, i). Which terms meet in which order depends on n
/// alone.
template <class Term>
HWY_INLINE float sum_row(int64_t n, const Term& term) {
  FloatVector sum0 = hn::Zero(kFloats);
  FloatVector sum1 = hn::Zero(kFloats);
  FloatVector sum2 = hn::Zero(kFloats);
  FloatVector sum3 = hn::Zero(kFloats);
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    sum0 = hn::Add(sum0, term(Whole(), i));
    sum1 = hn::Add(sum1, term(Whole(), i + kLanes));
    sum2 = hn::Add(sum2, term(Whole(), i + 2 * kLanes));
    sum3 = hn::Add(sum3, term(Whole(), i + 3 * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) sum0 = hn::Add(sum0, term(Whole(), i));
  if (i < n) {
    const Part part{static_cast<size_t>(n - i)};
    sum0 = hn::Add(sum0, part.or_zero(term(part, i)));
  }
  const FloatVector sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  return hn::GetLane(hn::SumOfLanes(kFloats, sum));
}

/// exp(x), relative error below 2e-7; arguments under -87 count as -87 and those over 88 as 88. A
/// NaN stays one.
HWY_INLINE FloatVector exp(FloatVector x) {
  // Max and Min give their second argument when either is a NaN (x86).
  x = hn::Max(hn::Set(kFloats, -87.0F), x);
  x = hn::Min(hn::Set(kFloats, 88.0F), x);
  // x = n ln 2 + r, |r| <= ln 2 / 2. Adding 1.5 2^23 rounds to the whole number n and leaves it in
  // the low bits; ln 2 comes in two parts, the first so short that n times it is exact.
  const FloatVector magic = hn::Set(kFloats, 12582912.0F);
  const FloatVector shifted = hn::MulAdd(x, hn::Set(kFloats, 1.44269504F), magic);
  const FloatVector n = hn::Sub(shifted, magic);
  FloatVector r = hn::NegMulAdd(n, hn::Set(kFloats, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(kFloats, -2.12194440e-4F), r);
  // (exp(r) - 1 - r) / r^2, minimax for the relative error of exp (3e-9), found by Remez' exchange.
  FloatVector q = hn::Set(kFloats, 1.3814540e-3F);
  q = hn::MulAdd(q, r, hn::Set(kFloats, 8.3687451e-3F));
  q = hn::MulAdd(q, r, hn::Set(kFloats, 4.1668391e-2F));
  q = hn::MulAdd(q, r, hn::Set(kFloats, 1.6666520e-1F));
  q = hn::MulAdd(q, r, hn::Set(kFloats, 4.9999993e-1F));
  const FloatVector p = hn::MulAdd(hn::Mul(r, r), q, hn::Add(r, hn::Set(kFloats, 1.0F)));
  // Times 2^n: n goes into the exponent bits, what else `shifted` holds falls off.
  const WordVector exponent = hn::ShiftLeft<23>(hn::BitCast(kWords, shifted));
  return hn::BitCast(kFloats, hn::Add(hn::BitCast(kWords, p), exponent));
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();
#endif
