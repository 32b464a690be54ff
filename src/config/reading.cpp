#include "config/reading.h"

#include <algorithm>

namespace trireme::config {

void Reading::add_stranger(const Names& names, std::string_view name, const Words& words,
                           const Source& source) {
  Names::Judgement judgement = names.judge(name, words, source);
  if (!judgement.note.empty()) notes.push_back(std::move(judgement.note));
  if (judgement.trouble) troubles.add(std::move(*judgement.trouble));
  if (judgement.may_be_ours) whole = false;
}

void Reading::add_trouble(Trouble trouble) {
  troubles.add(std::move(trouble));
  whole = false;
}

const Said* Reading::find(const Field& field) const {
  const auto it = std::find_if(said.begin(), said.end(),
                               [&](const Said& other) { return other.field == &field; });
  return it == said.end() ? nullptr : &*it;
}

}  // namespace trireme::config
