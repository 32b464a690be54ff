#include "schedule/action.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/format.h"

namespace trireme::schedule {
namespace {

// What stands around chunk and microbatch, by kind.
struct Spelling {
  std::string_view before;
  char letter;
};
constexpr std::array<Spelling, 8> kSpelling = {
    {{"", 'F'}, {"", 'B'}, {"", 'I'}, {"", 'W'}, {">", 'F'}, {"<", 'F'}, {">", 'B'}, {"<", 'B'}}};
static_assert(kSpelling.size() == static_cast<size_t>(ActionKind::reduce_wait));
constexpr std::string_view kReduceWait = "reduce_wait";
constexpr std::string_view kStep = "step";

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::string Action::text() const {
  if (kind == ActionKind::reduce_wait) return std::string(kReduceWait);
  if (kind == ActionKind::step) return std::string(kStep);
  const Spelling& spelling = kSpelling[static_cast<size_t>(kind)];
  return format("{}{}{}{}", spelling.before, chunk.value, spelling.letter, microbatch.value);
}

std::optional<Action> Action::parse(std::string_view text) {
  if (text == kReduceWait) return Action{.kind = ActionKind::reduce_wait};
  if (text == kStep) return Action{.kind = ActionKind::step};
  const std::string_view before = text.substr(0, text.find_first_not_of("<>"));
  text.remove_prefix(before.size());
  const size_t at = text.find_first_of("FBIW");
  if (at == std::string_view::npos) return std::nullopt;
  const auto spelled = std::find_if(kSpelling.begin(), kSpelling.end(), [&](const Spelling& known) {
    return known.before == before && known.letter == text[at];
  });
  const auto chunk = number(text.substr(0, at));
  const auto microbatch = number(text.substr(at + 1));
  if (spelled == kSpelling.end() || !chunk || !microbatch) return std::nullopt;
  return Action{.kind = static_cast<ActionKind>(spelled - kSpelling.begin()),
                .chunk = ChunkId{*chunk},
                .microbatch = MicrobatchId{*microbatch}};
}

bool Schedule::trains() const {
  return std::any_of(actions.begin(), actions.end(),
                     [](const Action& action) { return makes_input_gradient(action.kind); });
}

}  // namespace trireme::schedule
