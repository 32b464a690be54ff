#pragma once
#include "model/gpt_tensors.h"
#include "model/sizes.h"
#include "parallel/stages.h"
#include "program/program.h"

namespace trireme::model {

/// The program of one model chunk: its blocks emitted once, an instance per layer, flows x0, x1,
/// ... between them.
[[nodiscard]] program::Program chunk_program(const Sizes& sizes, const parallel::Chunk& chunk,
                                             const parallel::TensorTable& table);

}  // namespace trireme::model
