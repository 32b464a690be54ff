#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "text/tokenizer_state.h"
#include "text/utf8.h"

namespace trireme::text {

Tokenizer::State::State(Vocabulary from)
    : vocabulary(std::move(from)), merges(vocabulary), splitter(vocabulary.split_pattern) {
  ids.reserve(vocabulary.tokens.size());
  int32_t id = 0;
  for (const std::string& bytes : vocabulary.tokens) {
    if (bytes.size() == 1) byte_ids[static_cast<uint8_t>(bytes.front())] = id;
    ids.emplace(bytes, id++);
  }
  for (const std::vector<int32_t>* list : {&vocabulary.special, &vocabulary.added}) {
    for (const int32_t special : *list) ids.erase(vocabulary.tokens[static_cast<size_t>(special)]);
  }
  added_by_first_byte = by_first_byte({&vocabulary.added});
  all_by_first_byte = by_first_byte({&vocabulary.added, &vocabulary.special});
  end_of_text = vocabulary.end_of_document;
  for (const std::string_view text : {kEndOfText, kEndOfTextOfLlama3}) {
    if (!end_of_text) end_of_text = find_special(vocabulary, text);
  }
  cuts_at_lines = text::cuts_at_lines(vocabulary.split_pattern);
  for (const std::vector<int32_t>* list : {&vocabulary.added, &vocabulary.special}) {
    for (const int32_t special : *list) {
      const std::string& text = vocabulary.tokens[static_cast<size_t>(special)];
      if (text.find('\n') < text.size() - 1) cuts_at_lines = false;  // a cut might part it
    }
  }
}

Tokenizer::State::ByFirstByte Tokenizer::State::by_first_byte(
    std::initializer_list<const std::vector<int32_t>*> lists) const {
  const auto text_of = [&](int32_t id) -> const std::string& {
    return vocabulary.tokens[static_cast<size_t>(id)];
  };
  ByFirstByte table;
  for (const std::vector<int32_t>* list : lists) {
    for (const int32_t id : *list) table[static_cast<uint8_t>(text_of(id).front())].push_back(id);
  }
  for (std::vector<int32_t>& candidates : table) {
    std::sort(candidates.begin(), candidates.end(),
              [&](int32_t a, int32_t b) { return text_of(a).size() > text_of(b).size(); });
  }
  return table;
}

Tokenizer::Tokenizer(Vocabulary vocabulary)
    : state_(std::make_unique<const State>(std::move(vocabulary))) {}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::load(const Path& vocab_json, const Path& merges_txt) {
  return Tokenizer(read_vocabulary(vocab_json, merges_txt));
}

Tokenizer Tokenizer::load(const Path& model) {
  return Tokenizer(read_vocabulary(model));
}

void Tokenizer::save(const Path& folder) const {
  write_vocabulary(state_->vocabulary, folder);
}

int32_t Tokenizer::vocab_size() const {
  return static_cast<int32_t>(state_->vocabulary.tokens.size());
}

std::optional<int32_t> Tokenizer::end_of_text() const {
  return state_->end_of_text;
}

bool Tokenizer::cuts_at_lines() const {
  return state_->cuts_at_lines;
}

std::span<const int32_t> Tokenizer::special_tokens() const {
  return state_->vocabulary.special;
}

const Vocabulary& Tokenizer::vocabulary() const {
  return state_->vocabulary;
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string bytes;
  for (const int32_t id : ids) bytes += token_bytes(id);
  return bytes;
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  if (id < 0 || id >= vocab_size()) {
    fail({.where = "decode",
          .what = format("token id {} is not in the vocabulary", id),
          .rule = format("ids are 0 to {}", vocab_size() - 1),
          .remedy = "use the tokenizer by which the text was encoded"});
  }
  return state_->vocabulary.tokens[static_cast<size_t>(id)];
}

std::optional<int32_t> Tokenizer::id_of(std::string_view bytes) const {
  const auto found = state_->ids.find(bytes);
  if (found != state_->ids.end()) return found->second;
  return find_special(state_->vocabulary, bytes);
}

namespace {

bool is_space_before(std::string_view text, size_t end) {
  for (size_t length = 1; length <= std::min<size_t>(end, 3); ++length) {
    const std::string_view last = text.substr(end - length, length);
    if (utf8_length(last) == length) return is_white_space(utf8_code_point(last));
  }
  return false;  // four bytes or not valid: no white space
}

bool may_be_space_after(std::string_view text, size_t start) {
  const std::string_view rest = text.substr(start);
  const size_t length = utf8_length(rest);
  if (length == 0) return rest.size() < 3;  // more of the text might make it one
  return is_white_space(utf8_code_point(rest.substr(0, length)));
}

}  // namespace

size_t find_cut(std::string_view text, size_t limit) {
  size_t cut = std::min(limit, text.size());
  for (; cut > 1; --cut) {
    // Back to a position behind a line feed.
    const size_t line_feed = text.rfind('\n', cut - 1);
    if (line_feed == std::string_view::npos || line_feed == 0) return 0;
    cut = line_feed + 1;
    if (cut < text.size() && !is_space_before(text, line_feed) && !may_be_space_after(text, cut))
      return cut;
  }
  return 0;
}

}  // namespace trireme::text
