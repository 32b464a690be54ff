#pragma once
// What a Tokenizer is inside; read by the tokenizer and its encoder only.

#include <array>
#include <cstdint>
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
  std::unordered_map<std::string_view, int32_t> ids;            // by bytes, views of the vocabulary
  std::array<std::vector<int32_t>, 256> special_by_first_byte;  // longest first
};

}  // namespace trireme::text
