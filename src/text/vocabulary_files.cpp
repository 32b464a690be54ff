// vocab.json and merges.txt, parsed and spelled.

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/format.h"
#include "text/byte_alphabet.h"
#include "text/json_node.h"
#include "text/vocabulary.h"
#include "text/vocabulary_parts.h"

namespace trireme::text {
namespace {

constexpr std::string_view kVersion = "#version: 0.2";

/// Takes the one flat object that vocab.json is. Streaming, because a parsed document would keep
/// only the last of two equal keys.
class EntryReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  EntryReader(const std::string& name, Ids& ids) : name_(name), ids_(ids) {}

  bool start_object(size_t /*elements*/) override {
    if (inside_) refuse("an object");
    inside_ = true;
    return true;
  }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool number_integer(number_integer_t value) override { return take(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return take(static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)));
  }
  bool end_object() override { return true; }

  bool null() override { refuse("null"); }
  bool boolean(bool /*value*/) override { refuse("a truth value"); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { refuse(text); }
  bool string(string_t& text) override { refuse(shown(text)); }
  bool binary(binary_t& /*value*/) override { refuse("binary data"); }
  bool start_array(size_t /*elements*/) override { refuse("an array"); }
  bool end_array() override { return true; }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string_view text = error.what();
    fail({.where = name_,
          .what = std::string(text.substr(std::min(text.find("] ") + 2, text.size()))),
          .remedy = "the file is damaged or cut short: get it again"});
  }

 private:
  [[noreturn]] void refuse(const std::string& found) const {
    fail({.where = name_ + (inside_ ? ": key " + shown(key_) : ""),
          .what = "found " + found,
          .rule = inside_ ? "the value of every key is its id, a whole number from 0"
                          : "the file holds one object, token to id"});
  }
  bool take(int64_t value) {
    if (!inside_ || value < 0 || value > kMaxTokenId) refuse(std::to_string(value));
    if (!ids_.try_emplace(key_, static_cast<int32_t>(value)).second)
      fail({.where = name_ + ": key " + shown(key_), .what = "stands there twice"});
    return true;
  }

  const std::string& name_;
  Ids& ids_;
  std::string key_;
  bool inside_ = false;
};

void read_merges(std::string_view content, const std::string& name, MergeTaker& merges) {
  int64_t number = 0;
  for (std::string_view rest = content; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (number == 1 && line.starts_with("#version")) continue;
    const size_t space = line.find(' ');
    if (space == 0 || space == line.npos || space + 1 == line.size() ||
        line.find(' ', space + 1) != line.npos) {
      fail({.where = format("{} line {}", name, number),
            .what = format("{} is no merge", shown(line)),
            .rule = "a line holds two tokens with one space between them"});
    }
    merges.take(std::string(line.substr(0, space)), std::string(line.substr(space + 1)), number);
  }
}

}  // namespace

Vocabulary parse_vocabulary(std::string_view vocab_json, std::string_view merges_txt,
                            const VocabularyNames& names) {
  Ids ids;
  EntryReader reader(names.vocab_json, ids);
  nlohmann::json::sax_parse(vocab_json, &reader);
  const std::vector<const std::string*> keys = order_by_id(names.vocab_json, ids);
  require_bytes(names.vocab_json, ids);

  Vocabulary vocabulary;
  MergeTaker merges(names.merges_txt, "line", ids, vocabulary);
  read_merges(merges_txt, names.merges_txt, merges);
  for (size_t id = 0; id < keys.size(); ++id) {
    const std::string& key = *keys[id];
    const std::optional<std::string> bytes = from_letters(key);
    if (merges.makes(id) || (bytes && bytes->size() == 1)) {
      vocabulary.tokens.push_back(*bytes);
      continue;
    }
    const std::string where = format("{}: key {}", names.vocab_json, shown(key));
    if (key.empty()) fail({.where = where, .what = "is empty and stands for nothing"});
    if (has_letter_beyond_ascii(key)) {
      fail({.where = where,
            .what = format("no line of {} makes this token", names.merges_txt),
            .rule = "a token is a byte, a merge, or special and without letters of the byte "
                    "alphabet beyond ASCII",
            .remedy = "merges.txt is cut short or another's: take vocab.json and merges.txt from "
                      "the same vocabulary"});
    }
    require_no_twin(where, key, ids);
    vocabulary.tokens.push_back(key);
    vocabulary.special.push_back(static_cast<int32_t>(id));
  }
  return vocabulary;
}

std::string to_vocab_json(const Vocabulary& vocabulary) {
  std::string text = "{";
  auto special = vocabulary.special.begin();
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const bool is_special =
        special != vocabulary.special.end() && *special == static_cast<int32_t>(id);
    if (is_special) ++special;
    const std::string& bytes = vocabulary.tokens[id];
    text +=
        format("{}{}: {}", id == 0 ? "" : ", ", shown(is_special ? bytes : to_letters(bytes)), id);
  }
  return text += "}";
}

std::string to_merges_txt(const Vocabulary& vocabulary) {
  std::string text = format("{}\n", kVersion);
  for (const Merge& merge : vocabulary.merges) {
    const auto letters = [&](int32_t id) {
      return to_letters(vocabulary.tokens[static_cast<size_t>(id)]);
    };
    text += format("{} {}\n", letters(merge.left), letters(merge.right));
  }
  return text;
}

}  // namespace trireme::text
