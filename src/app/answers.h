#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generate/answer_text.h"
#include "generate/generator.h"
#include "generate/in_order.h"
#include "generate/prompts.h"
#include "text/tokenizer.h"

namespace trireme::app {

/// When an answer ends, besides its length, and how it is printed.
struct AnswerRules {
  std::vector<std::string> stop_texts = {};
  std::vector<int32_t> stop_tokens = {};
  bool stops_at_eod = true;
  bool json = false;
};

/// From tokens to what is printed, for answers that grow side by side. In the order of the
/// requests: as text, the prompt and behind it the answer as it grows, under a heading where there
/// are several; as JSON, a line for each answer with
///   prompt, sample         what was continued; the number of the answer to it, from 0
///   text                   of the answer; bytes that are not UTF-8 become U+FFFD
///   tokens                 ids of the answer, among them those of a stop text, but neither a stop
///                          token nor the end of document
///   stopped_by             length, stop or eod
///   prompt_tokens, tokens_per_second
class Answers {
 public:
  /// Tokenizer, prompts and requests outlive it. Requests: as many of each prompt, in order.
  Answers(const text::Tokenizer& tokenizer, const std::vector<generate::Prompt>& prompts,
          const std::vector<generate::Request>& requests, AnswerRules rules,
          generate::InOrder::Write write);

  /// The next token of an answer; whether it goes on.
  bool put(size_t request, int32_t token);

 private:
  using Clock = std::chrono::steady_clock;
  struct Answer {
    generate::AnswerText text;
    std::string whole;  // what was shown, for JSON
    std::vector<int32_t> tokens;
    int64_t chosen = 0;
    Clock::time_point first = {};  // when its first token came
  };

  void show(size_t request, std::string_view bytes);
  void end(size_t request, std::string_view reason);
  [[nodiscard]] std::string heading(size_t request) const;
  [[nodiscard]] std::string json_line(size_t request, std::string_view reason) const;
  [[nodiscard]] const generate::Prompt& prompt_of(size_t request) const {
    return prompts_[request / samples_];
  }

  const text::Tokenizer& tokenizer_;
  const std::vector<generate::Prompt>& prompts_;
  const std::vector<generate::Request>& requests_;
  size_t samples_;  // of each prompt
  AnswerRules rules_;
  generate::InOrder out_;
  std::vector<Answer> answers_;
};

}  // namespace trireme::app
