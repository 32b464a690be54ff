#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/bias_gradient.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/column_sum_inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

// Partial sums of one block of rows, in workspace [blocks, columns].
void bias_partial_sums(const program::BiasGradient& op, const Arguments& arguments, int64_t block) {
  const auto* dy = arguments.pointer<const float>(op.kDy);
  const int64_t first = block * program::kColumnSumRows;
  const int64_t last = std::min(op.rows, first + program::kColumnSumRows);
  sum_columns(first, last, op.columns,
              reinterpret_cast<float*>(arguments.workspace) + block * op.columns,
              [&](auto lanes, int64_t row, int64_t c)
                  HWY_ATTR { return lanes.load(dy + row * op.columns + c); });
}

void bias_join(const program::BiasGradient& op, const Arguments& arguments, int64_t blocks,
               int64_t first, int64_t last) {
  join_partial_sums(reinterpret_cast<const float*>(arguments.workspace), blocks, op.columns, first,
                    last, arguments.accumulate, arguments.pointer<float>(op.kDbias));
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(bias_partial_sums);
HWY_EXPORT(bias_join);

void bias_gradient(device::Stream& stream, const program::BiasGradient& op,
                   const Arguments& arguments) {
  const int64_t blocks = (op.rows + program::kColumnSumRows - 1) / program::kColumnSumRows;
  over_blocks(stream, blocks, 1, [&](int64_t block, int64_t) {
    HWY_DYNAMIC_DISPATCH(bias_partial_sums)(op, arguments, block);
  });
  over_blocks(stream, op.columns, rows_per_block(blocks), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(bias_join)(op, arguments, blocks, first, last);
  });
}

}  // namespace

void add_bias_gradient(KernelTable& table) {
  entry<program::BiasGradient, bias_gradient>(table);
}

}  // namespace trireme::ops::cpu
#endif
