#include "train/together.h"

#include <array>
#include <optional>

#include "comm/gather_text.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::train {
namespace {

// On the way between ranks: what a part came to behind kDone, or an error's parts behind its kind,
// each closed by kEnd, which no message has.
constexpr char kDone = '+';
constexpr char kUsageError = 'u';
constexpr char kRunError = 'r';
constexpr char kEnd = '\0';

std::string told(const Error& error) {
  const Trouble& trouble = error.trouble();
  std::string text(1, error.kind() == Error::Kind::usage ? kUsageError : kRunError);
  for (const std::string* part :
       {&place(), &trouble.where, &trouble.what, &trouble.rule, &trouble.remedy})
    (text += *part) += kEnd;
  return text;
}

std::string outcome_of(FunctionRef<std::string()> part) {
  try {
    return kDone + part();
  } catch (const Error& error) {
    return told(error);
  }
}

// The error of the first rank that failed; others: the ranks that failed, too.
[[noreturn]] void fail_as(const std::string& text, int rank, const std::vector<int>& others) {
  std::array<std::string, 5> parts;
  size_t at = 1;
  for (std::string& part : parts) {
    const size_t end = text.find(kEnd, at);
    part = text.substr(at, end - at);
    at = end + 1;
  }
  auto& [place, where, what, rule, remedy] = parts;
  if (place.empty()) place = ranks_text({rank});
  if (!others.empty()) what += format(" ({} failed, too)", ranks_text(others));
  throw Error(text.front() == kUsageError ? Error::Kind::usage : Error::Kind::run,
              {.where = where.empty() ? place : format("{}: {}", place, where),
               .what = what,
               .rule = rule,
               .remedy = remedy});
}

}  // namespace

std::vector<std::string> together(const World& world, FunctionRef<std::string()> part) {
  if (world.size() == 1) return {part()};
  std::vector<std::string> outcomes =
      comm::gather_texts(world.group, world.stream, outcome_of(part));
  std::vector<int> failed;
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (outcomes[rank].front() != kDone) failed.push_back(static_cast<int>(rank));
  }
  if (!failed.empty()) {
    const int first = failed.front();
    failed.erase(failed.begin());
    fail_as(outcomes[static_cast<size_t>(first)], first, failed);
  }
  for (std::string& outcome : outcomes) outcome.erase(0, 1);
  return outcomes;
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> runs;
  for (size_t first = 0; first < ranks.size();) {
    size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    runs.push_back(first == last ? format("{}", ranks[first])
                                 : format("{}-{}", ranks[first], ranks[last]));
    first = last + 1;
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < runs.size(); ++i)
    text += (i == 0 ? "" : i + 1 == runs.size() ? " and " : ", ") + runs[i];
  return text;
}

}  // namespace trireme::train
