#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/batches.h"
#include "engine/session.h"
#include "evaluate/passage.h"

namespace trireme::evaluate {

/// Runs a session's evaluation a microbatch at a time and says of each sequence what the model
/// makes of it. Where the model is cut, its ranks have a scorer each and score the same fields; the
/// stages work at several microbatches at once, since none but the last waits for what comes of
/// one.
class BatchScorer {
 public:
  /// The session was planned with an evaluation of one microbatch; it outlives the scorer.
  explicit BatchScorer(engine::Session& session);

  [[nodiscard]] int64_t length() const { return session_.plan().shape.length; }        ///< s
  [[nodiscard]] int64_t sequences() const { return session_.plan().batch.sequences; }  ///< b

  /// A score for each of the b sequences of [s, b] fields: of the tokens that the loss mask counts.
  /// On the last stage; elsewhere none. Valid until the next call. Throws, saying where, for a loss
  /// that is not a number: the weights are broken then.
  std::span<const Score> score(const data::BatchFields& fields);
  /// Behind the last microbatch: the session is free for other things, or to go.
  void finish() { session_.finish_messages(); }

 private:
  engine::Session& session_;
  std::vector<float> losses_;
  std::vector<float> target_;
  std::vector<Score> scores_;
};

}  // namespace trireme::evaluate
