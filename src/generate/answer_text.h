#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace trireme::generate {

/// The text of an answer while it grows. Gives out what can be shown: never a part of a character,
/// and nothing that may yet turn out to be a stop text.
///
/// The answer ends at the first byte with which a stop text is whole, wherever the borders of
/// tokens lie, and is cut where that stop text begins (the longest, where several end there). What
/// was given out, joined, is that text.
class AnswerText {
 public:
  /// No stop text is empty.
  explicit AnswerText(std::vector<std::string> stops = {});

  /// The bytes of the next token; returns what can be shown now, valid until the next call.
  /// Requires that no stop text was found.
  [[nodiscard]] std::string_view put(std::string_view bytes);
  /// There is no next token: what was held back.
  [[nodiscard]] std::string_view finish();

  /// Whether a stop text was found.
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  std::string_view give(size_t bytes);

  std::vector<std::string> stops_;
  std::string held_;
  std::string given_;
  bool stopped_ = false;
};

}  // namespace trireme::generate
