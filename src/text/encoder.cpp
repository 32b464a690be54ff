#include <algorithm>
#include <cstring>
#include <utility>

#include "text/tokenizer.h"
#include "text/tokenizer_state.h"
#include "text/word_cache.h"

namespace trireme::text {
namespace {

constexpr int kCacheSlotsLog2 = 15;  // 2 MiB: stays in the second-level cache of a core
constexpr size_t kKeptTokens = size_t{1} << 16;

}  // namespace

struct Encoder::Scratch {
  Scratch(const Tokenizer::State& from, int slots_log2)
      : state(from), pieces(from.splitter), joiner(from.merges), cache(slots_log2) {}

  const Tokenizer::State& state;
  Pieces pieces;
  Joiner joiner;
  WordCache cache;
  std::vector<int32_t> tokens;  // of the piece at hand

  std::span<const int32_t> tokens_of(std::string_view piece) {
    if (state.vocabulary.ignore_merges) {
      const auto whole = state.ids.find(piece);
      if (whole != state.ids.end()) {
        tokens.assign(1, whole->second);
        return tokens;
      }
    }
    tokens.resize(piece.size());
    std::transform(piece.begin(), piece.end(), tokens.begin(),
                   [&](char byte) { return state.byte_ids[static_cast<uint8_t>(byte)]; });
    return std::span(tokens).first(joiner.join(tokens));
  }

  void encode_plain(std::string_view text, std::vector<int32_t>& out) {
    pieces.start(text);
    for (std::string_view piece; pieces.next(piece);) {
      if (piece.size() == 1) {
        out.push_back(state.byte_ids[static_cast<uint8_t>(piece.front())]);
        continue;
      }
      WordCache::Slot* slot = cache.slot(piece);
      if (slot != nullptr && slot->holds(piece)) {
        out.insert(out.end(), slot->tokens.begin(), slot->tokens.begin() + slot->count);
        continue;
      }
      const std::span<const int32_t> joined = tokens_of(piece);
      if (slot != nullptr) slot->put(piece, joined);
      out.insert(out.end(), joined.begin(), joined.end());
    }
    if (tokens.capacity() > kKeptTokens) tokens = {};
  }

  // The token of the table that begins at this place of the text, longest first; -1: none.
  [[nodiscard]] int32_t token_at(const Tokenizer::State::ByFirstByte& table, std::string_view text,
                                 size_t at) const {
    for (const int32_t id : table[static_cast<uint8_t>(text[at])]) {
      if (text.substr(at).starts_with(state.vocabulary.tokens[static_cast<size_t>(id)])) return id;
    }
    return -1;
  }

  void encode_around(const Tokenizer::State::ByFirstByte& table, std::string_view text,
                     std::vector<int32_t>& out) {
    size_t start = 0;
    for (size_t at = 0; at < text.size();) {
      const int32_t id = token_at(table, text, at);
      if (id < 0) {
        ++at;
        continue;
      }
      encode_plain(text.substr(start, at - start), out);
      out.push_back(id);
      at += state.vocabulary.tokens[static_cast<size_t>(id)].size();
      start = at;
    }
    encode_plain(text.substr(start), out);
  }
};

Encoder::Encoder(const Tokenizer& tokenizer)
    : scratch_(std::make_unique<Scratch>(*tokenizer.state_, kCacheSlotsLog2)) {}
Encoder::Encoder(std::unique_ptr<Scratch> scratch) : scratch_(std::move(scratch)) {}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;

void Encoder::encode(std::string_view text, std::vector<int32_t>& out, EncodeOptions options) {
  const Tokenizer::State& state = scratch_->state;
  if (options.parse_special_tokens) {
    scratch_->encode_around(state.all_by_first_byte, text, out);
  } else if (!state.vocabulary.added.empty()) {
    scratch_->encode_around(state.added_by_first_byte, text, out);
  } else {
    scratch_->encode_plain(text, out);
  }
}

void Tokenizer::encode(std::string_view text, std::vector<int32_t>& out,
                       EncodeOptions options) const {
  // No cache: it would cost more to make than one text gains.
  Encoder encoder(std::make_unique<Encoder::Scratch>(*state_, 0));
  encoder.encode(text, out, options);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<int32_t> out;
  encode(text, out, options);
  return out;
}

}  // namespace trireme::text
