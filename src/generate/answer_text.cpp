#include "generate/answer_text.h"

#include <algorithm>

#include "core/error.h"

namespace trireme::generate {
namespace {

// Bytes in front of an unfinished UTF-8 character at the end. Bytes that begin no character are
// taken as they are.
size_t whole_characters(std::string_view text) {
  const size_t reach = std::min<size_t>(text.size(), 3);  // of a character's bytes but the last
  for (size_t length = 1; length <= reach; ++length) {
    const auto byte = static_cast<unsigned char>(text[text.size() - length]);
    if ((byte & 0xC0) == 0x80) continue;
    const size_t needs = byte >= 0xF5   ? 1
                         : byte >= 0xF0 ? 4
                         : byte >= 0xE0 ? 3
                         : byte >= 0xC2 ? 2
                                        : 1;
    return needs > length ? text.size() - length : text.size();
  }
  return text.size();
}

// The longest end of the text that begins a stop text.
size_t begun(std::string_view text, std::string_view stop) {
  for (size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
    if (text.substr(text.size() - length) == stop.substr(0, length)) return length;
  }
  return 0;
}

}  // namespace

AnswerText::AnswerText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) TRIREME_ASSERT(!stop.empty(), "a stop text has a byte");
}

std::string_view AnswerText::give(size_t bytes) {
  given_.assign(held_, 0, bytes);
  held_.erase(0, bytes);
  return given_;
}

std::string_view AnswerText::put(std::string_view bytes) {
  TRIREME_ASSERT(!stopped_, "behind a stop text there is no answer");
  held_ += bytes;
  size_t begin = held_.size();
  size_t end = std::string::npos;
  size_t open = 0;
  for (const std::string& stop : stops_) {
    const size_t found = held_.find(stop);
    open = std::max(open, begun(held_, stop));
    if (found == std::string::npos) continue;
    const size_t found_end = found + stop.size();
    if (found_end > end || (found_end == end && found > begin)) continue;
    begin = found;
    end = found_end;
  }
  if (end != std::string::npos) {
    stopped_ = true;
    held_.erase(begin);
    return give(begin);
  }
  return give(whole_characters(std::string_view(held_).substr(0, held_.size() - open)));
}

std::string_view AnswerText::finish() {
  return give(held_.size());
}

}  // namespace trireme::generate
