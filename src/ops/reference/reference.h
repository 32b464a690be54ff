#pragma once
#include <concepts>

#include "ops/kernel.h"

namespace trireme::ops::reference {

// The specification in code: for every op kind but the collectives, plain scalar loops in double
// accumulation on the calling thread, without workspace. The contracts are the docstrings under
// program/op/; each file here has the kinds of the file of the same name there.
//
// T is the storage of the operands that are declared f32: float in reference_kernels(); double in
// reference_kernels_in_double(), so that finite differences of a forward tell any wrong term of its
// backward. Operands of other dtypes are stored as declared.

/// The same loops on operands that are declared f32 but stored as double. For tests.
[[nodiscard]] const KernelTable& reference_kernels_in_double();

template <std::floating_point T>
void add_attention(KernelTable& table);
template <std::floating_point T>
void add_cross_entropy(KernelTable& table);
template <std::floating_point T>
void add_elementwise(KernelTable& table);
template <std::floating_point T>
void add_embedding(KernelTable& table);
template <std::floating_point T>
void add_layer_norm(KernelTable& table);
template <std::floating_point T>
void add_optimizer(KernelTable& table);
template <std::floating_point T>
void add_product(KernelTable& table);
template <std::floating_point T>
void add_stored_attention(KernelTable& table);

}  // namespace trireme::ops::reference
