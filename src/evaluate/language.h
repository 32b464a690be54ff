#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "data/feed.h"
#include "evaluate/scorer.h"
#include "text/tokenizer.h"

namespace trireme::evaluate {

/// How well a model predicts running text.
struct LanguageResult {
  Score score;
  int64_t bytes = 0;  ///< of the predicted tokens; special tokens have none. 0: unknown

  /// Nats per predicted token.
  [[nodiscard]] double loss() const { return score.nats / static_cast<double>(score.tokens); }
  [[nodiscard]] double perplexity() const;
  /// What is comparable between tokenizers: all nats over ln 2 and the bytes. Requires bytes.
  [[nodiscard]] double bits_per_byte() const;
};

/// A text in windows (windows.h): every token but the first is predicted once, however they lie.
/// name  for messages. Throws for a text of less than two tokens.
[[nodiscard]] LanguageResult evaluate_text(std::string_view text, std::string_view name,
                                           const text::Tokenizer& tokenizer, int64_t stride,
                                           const OpenSession& open, const ScorerOptions& options,
                                           const OnProgress& on_progress = {});

/// Samples [0, count) of a dataset's order, as a validation while training counts them: the tokens
/// of a sample but its first, less those that the rules of the batches mask.
/// tokenizer  null: the bytes are unknown
/// sequences  b
[[nodiscard]] LanguageResult evaluate_samples(const std::shared_ptr<const data::Batches>& batches,
                                              int64_t count, const text::Tokenizer* tokenizer,
                                              const OpenSession& open, int64_t sequences,
                                              const Team& team, const data::FeedOptions& reading,
                                              const OnProgress& on_progress = {});

}  // namespace trireme::evaluate
