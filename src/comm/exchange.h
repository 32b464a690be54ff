#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>

#include "core/error.h"
#include "program/op/collective.h"

namespace trireme::comm {

/// What a group can do with its members' buffers.
enum class Verb : uint8_t { all_reduce, reduce_scatter, all_gather, send, receive };

[[nodiscard]] constexpr std::string_view name_of(Verb verb) {
  constexpr std::array<std::string_view, 5> kNames = {"all_reduce", "reduce_scatter", "all_gather",
                                                      "send", "receive"};
  return kNames[static_cast<size_t>(verb)];
}

using program::kTraffics;
using program::Traffic;

/// What a message is, in up to 15 characters that sender and receiver must agree on, as in "0F3";
/// empty where the sequence number says it all. A value.
class Label {
 public:
  Label() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is a label
  Label(std::string_view text) {
    TRIREME_ASSERT(text.size() < text_.size(), "a label has at most 15 characters");
    std::copy(text.begin(), text.end(), text_.begin());
  }
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  Label(const char* text) : Label(std::string_view(text)) {}

  [[nodiscard]] std::string_view text() const { return text_.data(); }
  bool operator==(const Label&) const = default;

 private:
  std::array<char, 16> text_ = {};
};

/// What a rank asks of its group. A value; buffer and cuts stay untouched until the wait. All ranks
/// of a group ask for the same collectives in the same order, with the same sizes and cuts.
struct Exchange {
  Verb verb = Verb::all_reduce;
  Traffic traffic = Traffic::activation;
  /// Of collectives that add: f32 elements.
  program::Reduction reduction = program::Reduction::sum;
  std::byte* buffer = nullptr;  ///< device memory; of a send only read
  int64_t bytes = 0;
  /// Of collectives: slice r of the buffer, rank r's, is [cuts[r], cuts[r + 1]), in bytes; size + 1
  /// ascending numbers from 0 to bytes. Empty: where cut() puts them.
  std::span<const int64_t> cuts = {};
  int peer = 0;  ///< of send and receive: whom to, whom from, in the group
  Label what = {};
};

/// What may be under way at once in a group, of one rank.
struct MostUnderWay {
  size_t collectives = 0;
  int64_t bytes = 0;    ///< the largest collective's buffer
  size_t sends = 0;     ///< of one kind to one peer
  size_t receives = 0;  ///< of one kind, posted at once
};

/// Something that was started and will complete. Made by a communicator, handed back to it; a
/// value.
struct Request {
  uint64_t number = 0;  ///< 0: nothing to wait for
};

/// Bytes that one rank sent in a group, by kind: counted where they are sent, without headers.
struct BytesSent {
  std::array<int64_t, kTraffics> of = {};

  [[nodiscard]] int64_t& operator[](Traffic traffic) { return of[static_cast<size_t>(traffic)]; }
  [[nodiscard]] int64_t operator[](Traffic traffic) const {
    return of[static_cast<size_t>(traffic)];
  }
  [[nodiscard]] int64_t total() const { return std::accumulate(of.begin(), of.end(), int64_t{0}); }
  BytesSent& operator+=(const BytesSent& other) {
    std::transform(of.begin(), of.end(), other.of.begin(), of.begin(), std::plus<>());
    return *this;
  }
  bool operator==(const BytesSent&) const = default;
};

}  // namespace trireme::comm
