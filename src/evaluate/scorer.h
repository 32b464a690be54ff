#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/session.h"
#include "evaluate/passage.h"
#include "evaluate/team.h"

namespace trireme::evaluate {

/// A session with the model's weights and an evaluation of one microbatch of b sequences of
/// `length` positions; of a rank's part of the model.
using OpenSession = std::function<std::unique_ptr<engine::Session>(int64_t length, int64_t b)>;

/// What is told on the way: tokens predicted so far, of all.
using OnProgress = std::function<void(int64_t done, int64_t all)>;

struct ScorerOptions {
  int64_t longest = 0;    ///< positions that a passage may take: of the model, or fewer
  int64_t sequences = 1;  ///< b, passages at a time
  Team team = {};
};

/// Scores passages, one each, in their order, on all ranks. A score does not depend on what else is
/// scored, nor on b, nor on how many stages and data ranks there are.
///
/// Passages of one class of lengths run together, b at a time, padded on the right: no token sees
/// what is behind it, and padding is not counted. Classes are multiples of 64 positions, so short
/// passages do not pay for long ones; each class opens a session, so one with less than b passages
/// joins the next longer one.
[[nodiscard]] std::vector<Score> score_passages(std::span<const Passage> passages,
                                                const OpenSession& open,
                                                const ScorerOptions& options,
                                                const OnProgress& on_progress = {});

}  // namespace trireme::evaluate
