#pragma once
#include <string>

#include "program/liveness.h"
#include "program/program.h"

namespace trireme::program {

/// A program as text: every block once, with its values (shape, lifetime, place) and its forward
/// and backward ops side by side in the order they run, each with FLOPs, bytes and halves; then
/// which layers use which block, and the sums.
[[nodiscard]] std::string print(const Program& program, const SlotPlan& slots);

}  // namespace trireme::program
