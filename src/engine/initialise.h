#pragma once
#include <span>

#include "core/thread_pool.h"
#include "parallel/tensor_table.h"

namespace trireme::engine {

/// The initial values of a slice of a tensor, row-major over the slice's extent: a function of the
/// tensor's global coordinates, so every layout of ranks starts from the same weights. Source: the
/// random format of docs/formats.md.
void initial_values(const parallel::Tensor& tensor, const parallel::Slice& slice, uint32_t seed,
                    ThreadPool& pool, std::span<float> out);

}  // namespace trireme::engine
