#pragma once
// What a Tokenizer is inside; read by the tokenizer and its encoder only.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/merge_table.h"
#include "text/split.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace trireme::text {

struct Tokenizer::State {
  explicit State(Vocabulary from);

  Vocabulary vocabulary;
  MergeTable merges;
  Splitter splitter;
  std::array<int32_t, 256> byte_ids = {};
  // By bytes, views of the vocabulary; without special and added tokens.
  std::unordered_map<std::string_view, int32_t> ids;
  // Tokens that stand for their text: by first byte, the longest first.
  using ByFirstByte = std::array<std::vector<int32_t>, 256>;
  ByFirstByte added_by_first_byte;
  ByFirstByte all_by_first_byte;  // added and special
  std::optional<int32_t> end_of_text;
  bool cuts_at_lines = true;

 private:
  [[nodiscard]] ByFirstByte by_first_byte(
      std::initializer_list<const std::vector<int32_t>*> lists) const;
};

}  // namespace trireme::text
