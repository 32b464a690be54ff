#include "schedule/text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/error.h"
#include "core/format.h"

namespace trireme::schedule {
namespace {

constexpr std::string_view kScheduleName = "trireme-schedule";
constexpr std::string_view kPipelineName = "trireme-pipeline";
constexpr int kFormatVersion = 1;
constexpr size_t kColumns = 100;
constexpr std::string_view kSpace = " \t\r\v\f";

// Words of a text with the lines they are in. `#` begins a comment, to the end of its line.
class Words {
 public:
  Words(std::string_view text, std::string_view name) : rest_(text), name_(name) {}

  // The next word, on this line or a later one; empty at the end.
  std::string_view next() {
    while (true) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size()));
      if (rest_.empty()) return {};
      if (rest_.front() == '#') {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (rest_.front() == '\n') {
        rest_.remove_prefix(1);
        ++line_;
      } else {
        const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t\r\v\f\n#"));
        rest_.remove_prefix(word.size());
        return word;
      }
    }
  }

  int number(std::string_view what) {
    const std::string_view word = next();
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      refuse(format("'{}' stands where the number of {} is expected", word, what));
    return value;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    fail({.where = format("{}, line {}", name_, line_),
          .what = what,
          .rule = "a header line, then actions such as 0F3 >0F3 0B3 step",
          .remedy = "see docs/formats.md"});
  }

 private:
  std::string_view rest_;
  std::string_view name_;
  int line_ = 1;
};

// "VERSION [stages P] microbatches M chunks V" behind the format's name.
struct Header {
  std::optional<int> stages = {};
  int microbatches = 0;
  int chunks = 0;
};

int count(Words& words, std::string_view what) {
  const std::string_view word = words.next();
  if (word != what)
    words.refuse(format("'{}' stands in the header where '{}' is expected", word, what));
  const int value = words.number(what);
  if (value < 1) words.refuse(format("{} {}, there is at least one", what, value));
  return value;
}

Header read_header(Words& words, bool whole_pipeline) {
  const std::string_view name = words.next();
  if (name != kScheduleName && !(whole_pipeline && name == kPipelineName))
    words.refuse(format("'{}' is not the name of the format, '{}'", name,
                        whole_pipeline ? kPipelineName : kScheduleName));
  const int version = words.number("the format's version");
  if (version != kFormatVersion)
    words.refuse(
        format("version {} of the format, this program reads {}", version, kFormatVersion));
  Header header;
  if (name == kPipelineName) header.stages = count(words, "stages");
  header.microbatches = count(words, "microbatches");
  header.chunks = count(words, "chunks");
  return header;
}

Action read_action(const Words& words, std::string_view word) {
  const auto action = Action::parse(word);
  if (!action) words.refuse(format("'{}' is not an action", word));
  return *action;
}

}  // namespace

std::string print(const Schedule& schedule) {
  std::string text = format("{} {} microbatches {} chunks {}\n", kScheduleName, kFormatVersion,
                            schedule.microbatches, schedule.chunks);
  const char* separator = "";
  for (const Action& action : schedule.actions) {
    text += separator + action.text();
    separator = " ";
  }
  return text + "\n";
}

Schedule parse(std::string_view text) {
  Words words(text, "schedule");
  const Header header = read_header(words, false);
  Schedule schedule = {.microbatches = header.microbatches, .chunks = header.chunks};
  for (std::string_view word = words.next(); !word.empty(); word = words.next())
    schedule.actions.push_back(read_action(words, word));
  return schedule;
}

std::string print(const Pipeline& pipeline) {
  std::string text =
      format("{} {} stages {} microbatches {} chunks {}\n", kPipelineName, kFormatVersion,
             pipeline.stages(), pipeline.microbatches, pipeline.chunks);
  for (size_t rank = 0; rank < pipeline.ranks.size(); ++rank) {
    text += format("rank {}\n", rank);
    std::string line = " ";
    for (const Action& action : pipeline.ranks[rank]) {
      const std::string word = action.text();
      if (line.size() + 1 + word.size() > kColumns) {
        text += line + "\n";
        line = " ";
      }
      line += " " + word;
    }
    text += line + "\n";
  }
  return text;
}

Pipeline parse_pipeline(std::string_view text, std::string_view name) {
  Words words(text, name);
  const Header header = read_header(words, true);
  Pipeline pipeline = {.microbatches = header.microbatches, .chunks = header.chunks};
  if (!header.stages) pipeline.ranks.emplace_back();
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (header.stages && word == "rank") {
      const int rank = words.number("the rank");
      if (rank != pipeline.stages())
        words.refuse(format("rank {} stands where rank {} is expected", rank, pipeline.stages()));
      if (rank >= *header.stages)
        words.refuse(format("rank {} of {} stages, ranks count from 0", rank, *header.stages));
      pipeline.ranks.emplace_back();
      continue;
    }
    const Action action = read_action(words, word);
    if (pipeline.ranks.empty()) words.refuse(format("'{}' stands before the line 'rank 0'", word));
    pipeline.ranks.back().push_back(action);
  }
  if (header.stages && pipeline.stages() != *header.stages)
    words.refuse(format("{} of {} ranks are there", pipeline.stages(), *header.stages));
  return pipeline;
}

}  // namespace trireme::schedule
