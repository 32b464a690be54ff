#include "schedule/action.h"

#include <charconv>
#include <sstream>

#include "core/error.h"
#include "core/format.h"

namespace trireme::schedule {
namespace {

constexpr std::string_view kFormatName = "trireme-schedule";
constexpr int kFormatVersion = 1;
constexpr std::string_view kLetters = "FBIW";

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

[[noreturn]] void fail_line(int line, const std::string& what) {
  fail({.where = format("schedule, line {}", line),
        .what = what,
        .rule = "a header line, then actions such as 0F3 0B3 step",
        .remedy = "see docs/formats.md"});
}

}  // namespace

std::string Action::text() const {
  if (kind == ActionKind::step) return "step";
  return format("{}{}{}", chunk.value, kLetters[static_cast<size_t>(kind)], microbatch.value);
}

std::optional<Action> Action::parse(std::string_view text) {
  if (text == "step") return Action{.kind = ActionKind::step};
  const size_t at = text.find_first_of(kLetters);
  if (at == std::string_view::npos) return std::nullopt;
  const auto chunk = number(text.substr(0, at));
  const auto microbatch = number(text.substr(at + 1));
  if (!chunk || !microbatch) return std::nullopt;
  return Action{.kind = static_cast<ActionKind>(kLetters.find(text[at])),
                .chunk = ChunkId{*chunk},
                .microbatch = MicrobatchId{*microbatch}};
}

std::string print(const Schedule& schedule) {
  std::string text = format("{} {} microbatches {} chunks {}\n", kFormatName, kFormatVersion,
                            schedule.microbatches, schedule.chunks);
  const char* separator = "";
  for (const Action& action : schedule.actions) {
    text += separator + action.text();
    separator = " ";
  }
  return text + "\n";
}

Schedule parse(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);
  std::istringstream header(line);
  std::string name;
  std::string microbatches_word;
  std::string chunks_word;
  int version = 0;
  Schedule schedule;
  header >> name >> version >> microbatches_word >> schedule.microbatches >> chunks_word >>
      schedule.chunks;
  if (!header || name != kFormatName || microbatches_word != "microbatches" ||
      chunks_word != "chunks") {
    fail_line(1, format("'{}' is not the header of a schedule", line));
  }
  if (version != kFormatVersion) {
    fail_line(1,
              format("version {} of the format, this program reads {}", version, kFormatVersion));
  }
  for (int at = 2; std::getline(lines, line); ++at) {
    std::istringstream words(line);
    std::string word;
    while (words >> word) {
      const auto action = Action::parse(word);
      if (!action) fail_line(at, format("'{}' is not an action", word));
      schedule.actions.push_back(*action);
    }
  }
  return schedule;
}

}  // namespace trireme::schedule
