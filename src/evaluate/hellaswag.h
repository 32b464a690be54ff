#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/groups/evaluate.h"
#include "evaluate/encoded_pair.h"
#include "evaluate/scorer.h"

namespace trireme::evaluate {

/// HellaSwag: which of four endings follows a context? Source: Zellers et al. 2019, and the public
/// JSONL: ctx or ctx_a and ctx_b, endings, label (a number, or its digits), activity_label. Any
/// number of endings from two on.
struct HellaSwagExample {
  std::string context;
  std::vector<std::string> endings;  ///< as encoded, with the space in front
  std::vector<int64_t> characters;   ///< of each ending, without that space
  int64_t label = 0;
};

/// Throws, naming line and key, for anything else. Where a file has no ctx_a or no activity_label,
/// harness takes ctx, and leaves the label out.
[[nodiscard]] HellaSwagExample parse_hellaswag(std::string_view text, config::HellaSwagText style,
                                               const Line& line);

/// How many labels each way of choosing an ending finds; the first among equals.
struct HellaSwagResult {
  int64_t examples = 0;
  int64_t by_sum = 0;        ///< least nats: the harness's acc, llm.c's acc
  int64_t by_character = 0;  ///< least nats per character of the ending: the harness's acc_norm
  int64_t by_token = 0;      ///< least nats per token of the ending: llm.c's acc_norm
  int64_t truncated = 0;     ///< endings whose context lost its front

  [[nodiscard]] double share(int64_t correct) const {
    return static_cast<double>(correct) / static_cast<double>(examples);
  }
};

/// At most `limit` examples of a file.
[[nodiscard]] HellaSwagResult evaluate_hellaswag(
    const Path& file, int64_t limit, config::HellaSwagText style, const text::Tokenizer& tokenizer,
    const OpenSession& open, const ScorerOptions& options, const OnProgress& on_progress = {});

}  // namespace trireme::evaluate
