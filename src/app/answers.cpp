#include "app/answers.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/format.h"

namespace trireme::app {

Answers::Answers(const text::Tokenizer& tokenizer, const std::vector<generate::Prompt>& prompts,
                 const std::vector<generate::Request>& requests, AnswerRules rules,
                 generate::InOrder::Write write)
    : tokenizer_(tokenizer),
      prompts_(prompts),
      requests_(requests),
      samples_(requests.size() / prompts.size()),
      rules_(std::move(rules)),
      out_(requests.size(), std::move(write)),
      answers_(requests.size()) {
  for (size_t i = 0; i < answers_.size(); ++i) {
    answers_[i].text = generate::AnswerText(rules_.stop_texts);
    if (!rules_.json) out_.put(i, heading(i) + prompt_of(i).text);
  }
}

std::string Answers::heading(size_t request) const {
  if (requests_.size() == 1) return "";
  const std::string sample = format("sample {}", request % samples_ + 1);
  if (prompts_.size() == 1) return format("--- {}\n", sample);
  return format("--- prompt {}{}\n", request / samples_ + 1, samples_ > 1 ? ", " + sample : "");
}

bool Answers::put(size_t request, int32_t token) {
  Answer& answer = answers_[request];
  if (answer.chosen++ == 0) answer.first = Clock::now();
  if (rules_.stops_at_eod && token == tokenizer_.end_of_text()) {
    end(request, "eod");
    return false;
  }
  const std::vector<int32_t>& stops = rules_.stop_tokens;
  if (std::find(stops.begin(), stops.end(), token) != stops.end()) {
    end(request, "stop");
    return false;
  }
  answer.tokens.push_back(token);
  show(request, answer.text.put(tokenizer_.token_bytes(token)));
  const bool is_full = answer.chosen == requests_[request].count;
  if (answer.text.stopped()) {
    end(request, "stop");
  } else if (is_full) {
    end(request, "length");
  }
  return !answer.text.stopped() && !is_full;
}

void Answers::show(size_t request, std::string_view bytes) {
  if (rules_.json) {
    answers_[request].whole += bytes;
  } else {
    out_.put(request, bytes);
  }
}

void Answers::end(size_t request, std::string_view reason) {
  show(request, answers_[request].text.finish());
  out_.put(request, rules_.json ? json_line(request, reason) : "\n");
  out_.end(request);
}

std::string Answers::json_line(size_t request, std::string_view reason) const {
  const Answer& answer = answers_[request];
  nlohmann::ordered_json line;
  line["prompt"] = prompt_of(request).text;
  line["sample"] = requests_[request].sample;
  line["text"] = answer.whole;
  line["tokens"] = answer.tokens;
  line["stopped_by"] = reason;
  line["prompt_tokens"] = requests_[request].prompt.size();
  const double seconds = std::chrono::duration<double>(Clock::now() - answer.first).count();
  // The first token ends the reading of the prompt; it takes none of this time.
  const auto later = static_cast<double>(answer.chosen - 1);
  line["tokens_per_second"] = later > 0 ? std::round(10 * later / seconds) / 10 : 0.0;
  using Json = nlohmann::ordered_json;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trireme::app
