#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"

namespace trireme::schedule {

/// What a rank does. Computing: forward; backward, which is input gradient and weight gradient in
/// one, each weight gradient right behind its input gradient; or the two apart. Messages: an
/// activation goes to the next virtual stage, a gradient to the one before. A send begins and lets
/// the rank go on; it is complete when the other rank has the message. A receive is posted, which
/// takes a buffer; the computing that needs the message waits for it.
enum class ActionKind : uint8_t {
  forward,
  backward,
  input_gradient,
  weight_gradient,
  send_activation,
  receive_activation,
  send_gradient,
  receive_gradient,
  reduce_wait,  ///< the gradients are sums over the data-parallel ranks; all sends are complete
  step,         ///< optimizer step
};

[[nodiscard]] constexpr bool is_computing(ActionKind kind) {
  return kind <= ActionKind::weight_gradient;
}
[[nodiscard]] constexpr bool is_send(ActionKind kind) {
  return kind == ActionKind::send_activation || kind == ActionKind::send_gradient;
}
[[nodiscard]] constexpr bool is_receive(ActionKind kind) {
  return kind == ActionKind::receive_activation || kind == ActionKind::receive_gradient;
}
/// Of one chunk and microbatch: all but reduce_wait and step.
[[nodiscard]] constexpr bool has_microbatch(ActionKind kind) {
  return kind < ActionKind::reduce_wait;
}
/// Makes an input gradient: a backward, or its first half.
[[nodiscard]] constexpr bool makes_input_gradient(ActionKind kind) {
  return kind == ActionKind::backward || kind == ActionKind::input_gradient;
}
/// Makes a weight gradient, the last thing that reads the activations of its forward.
[[nodiscard]] constexpr bool makes_weight_gradient(ActionKind kind) {
  return kind == ActionKind::backward || kind == ActionKind::weight_gradient;
}

/// One unit of work of one rank. Text form: chunk, kind, microbatch, as in "0F3"; kinds F, B, I, W.
/// A message is written with the computing on this rank that it belongs to: ">0F3" sends what 0F3
/// made and "<0F3" receives what it needs; ">0B3" and "<0B3" likewise for gradients, also where I
/// and W are apart. The rest is "reduce_wait" and "step".
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
  std::vector<Action> actions = {};
  bool operator==(const Schedule&) const = default;

  /// Whether gradients are made; otherwise it is forward only.
  [[nodiscard]] bool trains() const;
};

}  // namespace trireme::schedule
