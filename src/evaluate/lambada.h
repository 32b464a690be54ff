#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/encoded_pair.h"
#include "evaluate/scorer.h"

namespace trireme::evaluate {

/// LAMBADA: does the model know the last word of a passage? Source: Paperno et al. 2016; the file
/// and its reading are the public ones of GPT-2's time, {"text": ...} on each line. White space at
/// the end does not count; the text is cut at its last space, and the space belongs to the word.
struct LambadaExample {
  std::string context;
  std::string word;  ///< begins with a space
};

/// Throws, naming the line, for anything else.
[[nodiscard]] LambadaExample parse_lambada(std::string_view text, const Line& line);

struct LambadaResult {
  int64_t examples = 0;
  int64_t correct = 0;    ///< every token of the word is the likeliest (Megatron-LM's
                          ///< --strict-lambada)
  int64_t truncated = 0;  ///< whose context lost its front
  Score words;            ///< tokens of all last words

  [[nodiscard]] double accuracy() const {
    return static_cast<double>(correct) / static_cast<double>(examples);
  }
  /// Of a word, however many tokens it has.
  [[nodiscard]] double perplexity() const;
};

/// At most `limit` examples of a file.
[[nodiscard]] LambadaResult evaluate_lambada(const Path& file, int64_t limit,
                                             const text::Tokenizer& tokenizer,
                                             const OpenSession& open, const ScorerOptions& options,
                                             const OnProgress& on_progress = {});

}  // namespace trireme::evaluate
