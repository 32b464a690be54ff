#include "evaluate/lambada.h"

#include <cmath>

#include "evaluate/json.h"

namespace trireme::evaluate {

LambadaExample parse_lambada(std::string_view text, const Line& line) {
  const nlohmann::json object = parse_object(text, line);
  std::string_view whole = string_of(object, "text", line);
  whole = whole.substr(0, whole.find_last_not_of(" \t\n\r\f\v") + 1);
  const size_t space = whole.rfind(' ');
  if (space == std::string_view::npos || space == 0) {
    refuse(line, "the text has no space with something in front of it",
           "the word to be predicted is what stands behind the last space");
  }
  return {.context = std::string(whole.substr(0, space)), .word = std::string(whole.substr(space))};
}

double LambadaResult::perplexity() const {
  return std::exp(words.nats / static_cast<double>(examples));
}

LambadaResult evaluate_lambada(const Path& file, int64_t limit, const text::Tokenizer& tokenizer,
                               const OpenSession& open, const ScorerOptions& options,
                               const OnProgress& on_progress) {
  std::vector<EncodedPair> pairs;
  LambadaResult result;
  for_each_line(file, limit, [&](std::string_view text, const Line& line) {
    const LambadaExample example = parse_lambada(text, line);
    const EncodedPair& pair =
        pairs.emplace_back(example.context, example.word, tokenizer, options.longest, line);
    result.truncated += pair.truncated() ? 1 : 0;
  });
  std::vector<Passage> passages;
  for (const EncodedPair& pair : pairs) passages.push_back(pair.passage());
  for (const Score& score : score_passages(passages, open, options, on_progress)) {
    result.examples += 1;
    result.correct += score.greedy() ? 1 : 0;
    result.words += score;
  }
  return result;
}

}  // namespace trireme::evaluate
