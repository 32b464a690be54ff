#pragma once
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"

namespace trireme::schedule {

/// backward is input gradient and weight gradient in one, each weight gradient right behind its
/// input gradient.
enum class ActionKind { forward, backward, input_gradient, weight_gradient, step };

/// One unit of work of one rank. Text form: chunk, kind, microbatch, as in "0F3"; kinds F, B, I, W.
/// The optimizer step is "step".
struct Action {
  ActionKind kind = ActionKind::forward;
  ChunkId chunk = {};
  MicrobatchId microbatch = {};
  auto operator<=>(const Action&) const = default;

  [[nodiscard]] std::string text() const;
  /// The action of a text form; nothing where it is none.
  [[nodiscard]] static std::optional<Action> parse(std::string_view text);
};

/// What one rank does in one global batch, in order.
struct Schedule {
  int microbatches = 1;  ///< m
  int chunks = 1;        ///< v
  std::vector<Action> actions;
  bool operator==(const Schedule&) const = default;
};

/// Versioned text form of one rank's schedule, one line of actions behind a header line;
/// docs/formats.md.
[[nodiscard]] std::string print(const Schedule& schedule);
/// Reads print()'s form. Throws with the line and the word that is wrong.
[[nodiscard]] Schedule parse(std::string_view text);

}  // namespace trireme::schedule
