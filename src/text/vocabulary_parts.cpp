#include "text/vocabulary_parts.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "text/byte_alphabet.h"
#include "text/json_node.h"

namespace trireme::text {
namespace {

constexpr const char* kOnlyByteLevel = "only byte-level BPE, as GPT-2 and Llama 3 have it, is read";

}  // namespace

std::vector<const std::string*> order_by_id(const std::string& name, const Ids& ids) {
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
      fail({.where = format("{}: key {}", name, shown(second)),
            .what = format("has id {}, like key {}", id, shown(first)),
            .rule = "an id belongs to one token"});
    }
    place = &key;
  }
  if (beyond != nullptr) {
    const auto hole = std::find(keys.begin(), keys.end(), nullptr) - keys.begin();
    fail({.where = format("{}: key {}", name, shown(*beyond)),
          .what = format("has id {}, but no key has id {}", ids.at(*beyond), hole),
          .rule = format("the ids of {} entries are 0 to {}", size, size - 1)});
  }
  return keys;
}

void require_bytes(const std::string& name, const Ids& ids) {
  for (const uint8_t byte : bytes_by_letter()) {
    const std::string letter = to_letters(std::string(1, static_cast<char>(byte)));
    if (ids.contains(letter)) continue;
    fail({.where = name,
          .what = format("no key {}, the letter of byte 0x{:02X}", shown(letter), byte),
          .rule = "every byte needs a token, so that any text can be encoded",
          .remedy = kOnlyByteLevel});
  }
}

void require_no_twin(const std::string& where, const std::string& text, const Ids& ids) {
  const auto twin = ids.find(to_letters(text));
  if (twin == ids.end() || twin->first == text) return;
  fail({.where = where,
        .what = format("means the same bytes as key {}", shown(twin->first)),
        .rule = "tokens differ in their bytes"});
}

MergeTaker::MergeTaker(std::string name, std::string unit, const Ids& ids, Vocabulary& vocabulary)
    : name_(std::move(name)),
      unit_(std::move(unit)),
      ids_(ids),
      vocabulary_(vocabulary),
      made_(ids.size()),
      number_of_(ids.size()) {}

std::string MergeTaker::where(int64_t number) const {
  return format("{} {} {}", name_, unit_, number);
}

int32_t MergeTaker::id_of(const std::string& token, int64_t number) const {
  const auto entry = ids_.find(token);
  if (entry != ids_.end()) return entry->second;
  fail({.where = where(number),
        .what = format("{} has no entry in the vocabulary", shown(token)),
        .remedy = "take vocabulary and merges of the same tokenizer"});
}

void MergeTaker::take(const std::string& left, const std::string& right, int64_t number) {
  const Merge merge{id_of(left, number), id_of(right, number)};
  const int32_t result = id_of(left + right, number);
  if (left.empty() || right.empty()) fail({.where = where(number), .what = "one side is empty"});
  if (!from_letters(left + right)) {
    fail({.where = where(number),
          .what = format("{} has a character that stands for no byte", shown(left + " " + right)),
          .remedy = kOnlyByteLevel});
  }
  int64_t& first = number_of_[pair_key(merge.left, merge.right)];
  if (first != 0) {
    fail({.where = where(number), .what = format("merges the same pair as {} {}", unit_, first)});
  }
  first = number;
  made_[static_cast<size_t>(result)] = true;
  vocabulary_.merges.push_back(merge);
  vocabulary_.results.push_back(result);
}

}  // namespace trireme::text
