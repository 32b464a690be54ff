// vocab.json and merges.txt, read and written.

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/error.h"
#include "core/format.h"
#include "text/byte_alphabet.h"
#include "text/flat_map.h"
#include "text/vocabulary.h"

namespace trireme::text {
namespace {

constexpr std::string_view kVersion = "#version: 0.2";
constexpr int64_t kMaxId = INT32_MAX - 1;
constexpr const char* kTakeBoth = "take vocab.json and merges.txt from the same vocabulary";

using Ids = std::unordered_map<std::string, int32_t>;

// Shown in messages with everything that does not print escaped.
std::string shown(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// Takes the one flat object that vocab.json is. Streaming, because a parsed document would keep
/// only the last of two equal keys.
class EntryReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  EntryReader(const Path& path, Ids& ids) : path_(path), ids_(ids) {}

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
    fail({.where = path_.string(),
          .what = std::string(text.substr(std::min(text.find("] ") + 2, text.size()))),
          .remedy = "the file is damaged or cut short: get it again"});
  }

 private:
  [[noreturn]] void refuse(const std::string& found) const {
    fail({.where = path_.string() + (inside_ ? ": key " + shown(key_) : ""),
          .what = "found " + found,
          .rule = inside_ ? "the value of every key is its id, a whole number from 0"
                          : "the file holds one object, token to id"});
  }
  bool take(int64_t value) {
    if (!inside_ || value < 0 || value > kMaxId) refuse(std::to_string(value));
    if (!ids_.try_emplace(key_, static_cast<int32_t>(value)).second)
      fail({.where = path_.string() + ": key " + shown(key_), .what = "stands there twice"});
    return true;
  }

  const Path& path_;
  Ids& ids_;
  std::string key_;
  bool inside_ = false;
};

/// The keys of vocab.json by id.
std::vector<const std::string*> order_by_id(const Path& path, const Ids& ids) {
  std::vector<const std::string*> keys(ids.size());
  const auto size = static_cast<int64_t>(ids.size());
  const std::string* beyond = nullptr;
  for (const auto& [key, id] : ids) {
    if (id >= size) {
      if (beyond == nullptr || id < ids.at(*beyond)) beyond = &key;
      continue;
    }
    const std::string*& place = keys[static_cast<size_t>(id)];
    if (place != nullptr) {
      const auto [first, second] = std::minmax(*place, key);
      fail({.where = format("{}: key {}", path.string(), shown(second)),
            .what = format("has id {}, like key {}", id, shown(first)),
            .rule = "an id belongs to one token"});
    }
    place = &key;
  }
  if (beyond != nullptr) {
    const auto hole = std::find(keys.begin(), keys.end(), nullptr) - keys.begin();
    fail({.where = format("{}: key {}", path.string(), shown(*beyond)),
          .what = format("has id {}, but no key has id {}", ids.at(*beyond), hole),
          .rule = format("the ids of {} entries are 0 to {}", size, size - 1)});
  }
  return keys;
}

std::vector<bool> read_merges(const Path& path, const Ids& ids, Vocabulary& vocabulary) {
  const std::string content = read_file(path);
  std::vector<bool> made(ids.size());
  FlatMap<int64_t> line_of(ids.size());
  int64_t number = 0;
  for (std::string_view rest = content; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (number == 1 && line.starts_with("#version")) continue;

    const std::string where = format("{} line {}", path.string(), number);
    const size_t space = line.find(' ');
    if (space == 0 || space + 1 >= line.size() || line.find(' ', space + 1) != line.npos) {
      fail({.where = where,
            .what = format("{} is no merge", shown(line)),
            .rule = "a line holds two tokens with one space between them"});
    }
    const auto id_of = [&](const std::string& token) {
      const auto entry = ids.find(token);
      if (entry != ids.end()) return entry->second;
      fail({.where = where,
            .what = format("{} has no entry in vocab.json", shown(token)),
            .remedy = kTakeBoth});
    };
    const std::string left(line.substr(0, space));
    const std::string right(line.substr(space + 1));
    const Merge merge{id_of(left), id_of(right)};
    const int32_t result = id_of(left + right);
    if (!from_letters(left + right)) {
      fail({.where = where,
            .what = format("{} has a character that stands for no byte", shown(line)),
            .remedy = "only byte-level BPE, as GPT-2 uses it, can be read"});
    }
    int64_t& first_line = line_of[pair_key(merge.left, merge.right)];
    if (first_line != 0) {
      fail({.where = where, .what = format("merges the same pair as line {}", first_line)});
    }
    first_line = number;
    made[static_cast<size_t>(result)] = true;
    vocabulary.merges.push_back(merge);
    vocabulary.results.push_back(result);
  }
  return made;
}

}  // namespace

Vocabulary read_vocabulary(const Path& vocab_json, const Path& merges_txt) {
  Ids ids;
  EntryReader reader(vocab_json, ids);
  nlohmann::json::sax_parse(read_file(vocab_json), &reader);
  const std::vector<const std::string*> keys = order_by_id(vocab_json, ids);

  for (const uint8_t byte : bytes_by_letter()) {
    const std::string letter = to_letters(std::string(1, static_cast<char>(byte)));
    if (ids.contains(letter)) continue;
    fail({.where = vocab_json.string(),
          .what = format("no key {}, the letter of byte 0x{:02X}", shown(letter), byte),
          .rule = "every byte needs a token, so that any text can be encoded",
          .remedy = "only byte-level BPE, as GPT-2 uses it, can be read"});
  }

  Vocabulary vocabulary;
  const std::vector<bool> made = read_merges(merges_txt, ids, vocabulary);
  for (size_t id = 0; id < keys.size(); ++id) {
    const std::string& key = *keys[id];
    const std::optional<std::string> bytes = from_letters(key);
    if (made[id] || (bytes && bytes->size() == 1)) {
      vocabulary.tokens.push_back(*bytes);
      continue;
    }
    const std::string where = format("{}: key {}", vocab_json.string(), shown(key));
    if (key.empty()) fail({.where = where, .what = "is empty and stands for nothing"});
    if (has_letter_beyond_ascii(key)) {
      fail({.where = where,
            .what = format("no line of {} makes this token", merges_txt.string()),
            .rule = "a token is a byte, a merge, or special and without letters of the byte "
                    "alphabet beyond ASCII",
            .remedy = format("merges.txt is cut short or another's: {}", kTakeBoth)});
    }
    const auto twin = ids.find(to_letters(key));
    if (twin != ids.end() && twin->second != static_cast<int32_t>(id)) {
      fail({.where = where, .what = format("means the same bytes as key {}", shown(twin->first))});
    }
    vocabulary.tokens.push_back(key);
    vocabulary.special.push_back(static_cast<int32_t>(id));
  }
  return vocabulary;
}

void write_vocabulary(const Vocabulary& vocabulary, const Path& folder) {
  make_folder(folder);
  AtomicFile vocab_json(folder / "vocab.json");
  AtomicFile merges_txt(folder / "merges.txt");
  auto special = vocabulary.special.begin();
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const bool is_special =
        special != vocabulary.special.end() && *special == static_cast<int32_t>(id);
    if (is_special) ++special;
    const std::string& bytes = vocabulary.tokens[id];
    const nlohmann::json key = is_special ? bytes : to_letters(bytes);
    vocab_json.write(format("{}{}: {}", id == 0 ? "{" : ", ", key.dump(-1, ' ', true), id));
  }
  vocab_json.write("}");
  merges_txt.write(format("{}\n", kVersion));
  for (const Merge& merge : vocabulary.merges) {
    const auto letters = [&](int32_t id) {
      return to_letters(vocabulary.tokens[static_cast<size_t>(id)]);
    };
    merges_txt.write(format("{} {}\n", letters(merge.left), letters(merge.right)));
  }
  vocab_json.commit();
  merges_txt.commit();
}

}  // namespace trireme::text
