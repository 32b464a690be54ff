#pragma once
#include "ops/cpu/multiply.h"

namespace trireme::ops::cpu {

/// Whether a product is one of those that multiply_few_rows takes: not more rows than a block of
/// the innermost loop has, both factors stored line by line, no accumulation. Decoding's.
[[nodiscard]] bool rows_are_few(const Multiplication& product);

/// Such a product, with the arithmetic of multiply() to the bit, at the speed of reading the right
/// factor: its lines are transposed in registers on their way by, where multiply() would pack them
/// for rows that are not there. Needs no workspace.
void multiply_few_rows(ThreadPool& pool, const Multiplication& product);

}  // namespace trireme::ops::cpu
