#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"

namespace trireme::data {

/// Takes the texts under given keys out of a line of JSONL. One object serves one thread.
class JsonTexts {
 public:
  explicit JsonTexts(std::vector<std::string> keys);
  ~JsonTexts();
  JsonTexts(JsonTexts&&) noexcept;
  JsonTexts& operator=(JsonTexts&&) noexcept;

  /// texts[key] are the sequences of the document: one for a string, as many as it has strings for
  /// an array. Valid until the next call.
  ///
  /// line         kCorpusPadding readable bytes lie behind it
  /// file, number for messages
  /// Throws for a line that is not a JSON object, lacks a key or has another type under it.
  using Texts = std::vector<std::vector<std::string_view>>;
  [[nodiscard]] const Texts& parse(std::string_view line, const Path& file, int64_t number);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::data
