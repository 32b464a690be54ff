#include "text/split.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/error.h"
#include "core/format.h"
#include "text/pattern.h"
#include "text/utf8.h"

namespace trireme::text {
namespace {

constexpr char kSymbol = '~';
// A clean copy above this is given back after its text.
constexpr size_t kKeptBytes = size_t{1} << 20;

// Steps that one match may take before it is given up. Sound patterns take a few for each byte at
// the most; others, as (a+)+b, would go on for ages.
uint32_t match_limit(size_t text_bytes) {
  constexpr uint64_t kFree = 10'000'000;
  constexpr uint64_t kPerByte = 64;
  return static_cast<uint32_t>(std::min<uint64_t>(kFree + kPerByte * text_bytes, UINT32_MAX));
}

std::string pcre2_text(int error) {
  std::array<PCRE2_UCHAR, 256> buffer = {};
  if (pcre2_get_error_message(error, buffer.data(), buffer.size()) < 0)
    return format("PCRE2 error {}", error);
  return reinterpret_cast<const char*>(buffer.data());
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

template <auto free>
struct Free {
  template <class T>
  void operator()(T* pointer) const {
    free(pointer);
  }
};

}  // namespace

struct Splitter::State {
  std::unique_ptr<pcre2_code, Free<pcre2_code_free>> code;
  Mode mode = Mode::interpreted;
};

Splitter::Splitter(std::string_view pattern, Mode mode) {
  auto state = std::make_unique<State>();
  const std::string source = to_pcre2(pattern);
  const std::unique_ptr<pcre2_compile_context, Free<pcre2_compile_context_free>> context(
      pcre2_compile_context_create(nullptr));
  if (context == nullptr) fail({.where = "split pattern", .what = "no memory for PCRE2"});
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);  // what "." does not match
  int error = 0;
  PCRE2_SIZE offset = 0;
  state->code.reset(pcre2_compile(units(source), source.size(), PCRE2_UTF | PCRE2_UCP, &error,
                                  &offset, context.get()));
  if (state->code == nullptr) {
    fail({.where = "split pattern",
          .what = format("PCRE2 does not compile \"{}\", offset {}: {}", source, offset,
                         pcre2_text(error)),
          .rule = "it must be a regular expression as PCRE2 10.40 or newer understands it"});
  }
  uint32_t may_be_empty = 0;
  const int told = pcre2_pattern_info(state->code.get(), PCRE2_INFO_MATCHEMPTY, &may_be_empty);
  if (told != 0) fail({.where = "split pattern", .what = pcre2_text(told)});
  if (may_be_empty != 0) {
    fail({.where = "split pattern",
          .what = format("\"{}\" may match without taking a character", pattern),
          .rule = "each piece of a text has at least one"});
  }
  if (mode == Mode::compiled && pcre2_jit_compile(state->code.get(), PCRE2_JIT_COMPLETE) == 0)
    state->mode = Mode::compiled;
  state_ = std::move(state);
}

Splitter::~Splitter() = default;
Splitter::Splitter(Splitter&&) noexcept = default;
Splitter& Splitter::operator=(Splitter&&) noexcept = default;

Splitter::Mode Splitter::mode() const {
  return state_->mode;
}

struct Pieces::Match {
  std::unique_ptr<pcre2_match_data, Free<pcre2_match_data_free>> data;
  std::unique_ptr<pcre2_match_context, Free<pcre2_match_context_free>> context;
};

Pieces::Pieces(const Splitter& splitter)
    : splitter_(splitter.state_.get()), match_(std::make_unique<Match>()) {
  match_->data.reset(pcre2_match_data_create(1, nullptr));
  match_->context.reset(pcre2_match_context_create(nullptr));
  if (match_->data == nullptr || match_->context == nullptr)
    fail({.where = "split pattern", .what = "no memory for PCRE2's match data"});
}

Pieces::~Pieces() = default;

void Pieces::start(std::string_view text) {
  text_ = text;
  position_ = 0;
  matched_end_ = 0;
  pcre2_set_match_limit(match_->context.get(), match_limit(text.size()));
  subject_ = text;
  size_t invalid = find_invalid_utf8(text);
  if (invalid < text.size()) {
    clean_.assign(text);
    for (; invalid < text.size(); invalid = find_invalid_utf8(text, invalid + 1))
      clean_[invalid] = kSymbol;
    subject_ = clean_;
  }
}

bool Pieces::next(std::string_view& piece) {
  if (position_ == text_.size()) {
    if (clean_.capacity() > kKeptBytes) std::string().swap(clean_);
    return false;
  }
  const size_t start = position_;
  size_t end = matched_end_;
  matched_end_ = 0;
  if (end == 0) {
    // Checked by start(): PCRE2 would check all the rest of the text again for every piece.
    constexpr uint32_t kOptions = PCRE2_NO_UTF_CHECK;
    const int found =
        splitter_->mode == Splitter::Mode::compiled
            ? pcre2_jit_match(splitter_->code.get(), units(subject_), subject_.size(), start,
                              kOptions, match_->data.get(), match_->context.get())
            : pcre2_match(splitter_->code.get(), units(subject_), subject_.size(), start, kOptions,
                          match_->data.get(), match_->context.get());
    if (found < 0 && found != PCRE2_ERROR_NOMATCH) {
      fail({.where = "split pattern",
            .what = format("cannot be matched at byte {} of a text of {} bytes: {}", start,
                           text_.size(), pcre2_text(found)),
            .remedy = "cut the text into smaller documents, or write the pattern without repeats "
                      "inside repeats"});
    }
    end = text_.size();
    if (found >= 0) {
      const PCRE2_SIZE* match = pcre2_get_ovector_pointer(match_->data.get());
      end = match[1];
      if (match[0] > start) {
        matched_end_ = end;
        end = match[0];
      }
    }
  }
  piece = text_.substr(start, end - start);
  position_ = end;
  return true;
}

}  // namespace trireme::text
