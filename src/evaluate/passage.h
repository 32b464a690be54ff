#pragma once
#include <cstdint>
#include <span>

namespace trireme::evaluate {

/// Tokens of which those from first_counted on are predicted, each from all in front of it. Does
/// not own them. At least two, and 1 <= first_counted < their number.
struct Passage {
  std::span<const int32_t> tokens = {};
  int64_t first_counted = 1;

  /// Positions of the model that it takes: the last token is only a label.
  [[nodiscard]] int64_t length() const { return static_cast<int64_t>(tokens.size()) - 1; }
  [[nodiscard]] int64_t counted() const {
    return static_cast<int64_t>(tokens.size()) - first_counted;
  }
};

/// What a model says of predicted tokens.
struct Score {
  double nats = 0;     ///< -ln of their probabilities, added in their order
  int64_t tokens = 0;  ///< how many there are
  int64_t hits = 0;    ///< those to which no token was preferred: greedy decoding would take them
                       ///< (among equals it takes the lowest id, here each of them is a hit)

  [[nodiscard]] bool greedy() const { return hits == tokens; }
  Score& operator+=(const Score& other) {
    nats += other.nats;
    tokens += other.tokens;
    hits += other.hits;
    return *this;
  }
  bool operator==(const Score&) const = default;
};

}  // namespace trireme::evaluate
