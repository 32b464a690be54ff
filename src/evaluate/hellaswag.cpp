#include "evaluate/hellaswag.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "evaluate/json.h"

namespace trireme::evaluate {

using config::HellaSwagText;

namespace {

constexpr std::string_view kWhite = " \t\n\r\f\v";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

// "[...]" within a line, from an opening bracket to the first closing one.
std::string without_brackets(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text[at] == '[' ? text.find_first_of("]\n", at) : std::string_view::npos;
    if (end != std::string_view::npos && text[end] == ']') {
      at = end + 1;
    } else {
      out += text[at++];
    }
  }
  return out;
}

std::string cleaned(std::string_view text) {
  const size_t first = text.find_first_not_of(kWhite);
  if (first == std::string_view::npos) return "";
  std::string out(text.substr(first, text.find_last_not_of(kWhite) + 1 - first));
  replace_all(out, " [title]", ". ");
  out = without_brackets(out);
  replace_all(out, "  ", " ");
  return out;
}

std::string capitalised(std::string text) {
  const auto shift = [](char c, char from) {
    return c >= from && c <= from + 25 ? static_cast<char>(c ^ 0x20) : c;
  };
  for (size_t i = 0; i < text.size(); ++i) text[i] = shift(text[i], i == 0 ? 'a' : 'A');
  return text;
}

int64_t characters_of(std::string_view utf8) {
  return std::count_if(utf8.begin(), utf8.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::string context_of(const nlohmann::json& object, HellaSwagText style, const Line& line) {
  const auto parts = [&](auto change) {
    const std::string b = object.contains("ctx_b") ? string_of(object, "ctx_b", line) : "";
    return string_of(object, "ctx_a", line) + " " + change(b);
  };
  const bool has_parts = object.contains("ctx_a");
  if (style == HellaSwagText::plain) {
    if (object.contains("ctx") || !has_parts) return string_of(object, "ctx", line);
    std::string context = parts([](std::string b) { return b; });
    context.erase(context.find_last_not_of(kWhite) + 1);
    return context;
  }
  std::string context = has_parts ? parts(capitalised) : string_of(object, "ctx", line);
  if (object.contains("activity_label"))
    context = string_of(object, "activity_label", line) + ": " + context;
  return cleaned(context);
}

std::vector<std::string> endings_of(const nlohmann::json& object, const Line& line) {
  const auto found = object.find("endings");
  if (found == object.end() || !found->is_array() || found->size() < 2) {
    refuse(line, "\"endings\" is no list of two or more", "an example has endings to choose from");
  }
  std::vector<std::string> endings;
  for (const nlohmann::json& ending : *found) {
    if (!ending.is_string())
      refuse(line, format("an ending is of type {}", ending.type_name()), "endings are strings");
    endings.push_back(ending.get<std::string>());
  }
  return endings;
}

// A number, or its digits.
int64_t label_of(const nlohmann::json& object, size_t endings, const Line& line) {
  const auto found = object.find("label");
  const std::string said = found == object.end() ? "" : found->dump();
  if (found == object.end() || said == "\"\"") {
    refuse(line, "has no label",
           "what is counted is how often the labelled ending is chosen (the "
           "public test file has no labels, the validation file has)");
  }
  const std::string digits = found->is_string() ? found->get<std::string>() : said;
  int64_t label = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), label);
  if (error != std::errc() || end != digits.data() + digits.size() || label < 0 ||
      label >= static_cast<int64_t>(endings)) {
    refuse(line, format("the label is {}", said),
           format("it is the number of one of the endings, 0 to {}", endings - 1));
  }
  return label;
}

// The ending of the least value, the first among equals.
template <class Value>
int64_t least(size_t endings, Value value) {
  size_t best = 0;
  for (size_t i = 1; i < endings; ++i) {
    if (value(i) < value(best)) best = i;
  }
  return static_cast<int64_t>(best);
}

}  // namespace

HellaSwagExample parse_hellaswag(std::string_view text, HellaSwagText style, const Line& line) {
  const nlohmann::json object = parse_object(text, line);
  HellaSwagExample example = {.context = context_of(object, style, line)};
  // A space at the context's end belongs to the ending: tokens begin with spaces.
  std::string space = " ";
  if (style == HellaSwagText::harness) {
    const size_t end = example.context.find_last_not_of(kWhite) + 1;
    space.insert(0, example.context.substr(end));
    example.context.erase(end);
  }
  for (const std::string& said : endings_of(object, line)) {
    const std::string ending = style == HellaSwagText::harness ? cleaned(said) : said;
    if (ending.empty()) {
      refuse(line, format("ending {} is empty", example.endings.size()),
             "an ending is a text that can follow the context");
    }
    example.endings.push_back(space + ending);
    example.characters.push_back(characters_of(ending));
  }
  example.label = label_of(object, example.endings.size(), line);
  return example;
}

HellaSwagResult evaluate_hellaswag(const Path& file, int64_t limit, HellaSwagText style,
                                   const text::Tokenizer& tokenizer, const OpenSession& open,
                                   const ScorerOptions& options, const OnProgress& on_progress) {
  struct Read {
    int64_t label = 0;
    std::vector<int64_t> characters = {};
  };
  std::vector<Read> examples;
  std::vector<EncodedPair> pairs;  // all endings of all examples
  HellaSwagResult result;
  for_each_line(file, limit, [&](std::string_view text, const Line& line) {
    HellaSwagExample example = parse_hellaswag(text, style, line);
    for (const std::string& ending : example.endings) {
      const EncodedPair& pair =
          pairs.emplace_back(example.context, ending, tokenizer, options.longest, line);
      result.truncated += pair.truncated() ? 1 : 0;
    }
    examples.push_back({example.label, std::move(example.characters)});
  });
  std::vector<Passage> passages;
  for (const EncodedPair& pair : pairs) passages.push_back(pair.passage());
  const std::vector<Score> scores = score_passages(passages, open, options, on_progress);

  std::span<const Score> rest = scores;
  for (const Read& example : examples) {
    const size_t n = example.characters.size();
    const std::span<const Score> endings = rest.first(n);
    rest = rest.subspan(n);
    const auto per = [&](size_t i, int64_t count) {
      return endings[i].nats / static_cast<double>(count);
    };
    const auto found = [&](auto value) { return least(n, value) == example.label ? 1 : 0; };
    result.examples += 1;
    result.by_sum += found([&](size_t i) { return endings[i].nats; });
    result.by_character += found([&](size_t i) { return per(i, example.characters[i]); });
    result.by_token += found([&](size_t i) { return per(i, endings[i].tokens); });
  }
  return result;
}

}  // namespace trireme::evaluate
