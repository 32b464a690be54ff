#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace trireme::text {

/// A compiled split pattern; immutable, shared by all threads.
///
/// The pattern sees every byte that belongs to no valid UTF-8 sequence as a "~", a symbol of one
/// byte, so that offsets stay the same; the pieces hold the bytes themselves. Text that the pattern
/// does not match is a piece of its own, so that the pieces joined are always the text.
class Splitter {
 public:
  enum class Mode { compiled, interpreted };

  /// The syntax is told in pattern.h. Throws when the pattern is not understood, does not compile
  /// or may match an empty text. Where the system allows no code to be made at run time it is
  /// interpreted: slower, same pieces.
  explicit Splitter(std::string_view pattern, Mode mode = Mode::compiled);
  ~Splitter();
  Splitter(Splitter&&) noexcept;
  Splitter& operator=(Splitter&&) noexcept;

  [[nodiscard]] Mode mode() const;

 private:
  friend class Pieces;
  struct State;
  std::unique_ptr<const State> state_;
};

/// Walks over the pieces of texts. One object serves one thread and many texts.
class Pieces {
 public:
  /// The splitter may be moved but must outlive it.
  explicit Pieces(const Splitter& splitter);
  ~Pieces();
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  /// Begins with a text, which must stay where it is until the last piece.
  void start(std::string_view text);
  /// The next piece, never empty, a view of the text; false at the end.
  bool next(std::string_view& piece);

 private:
  struct Match;
  const Splitter::State* splitter_;
  std::unique_ptr<Match> match_;
  std::string_view text_;
  std::string_view subject_;  // what PCRE2 reads: text_, or clean_ where text_ is not valid UTF-8
  std::string clean_;
  size_t position_ = 0;
  size_t matched_end_ = 0;  // of a match that waits behind unmatched text; 0: none
};

}  // namespace trireme::text
