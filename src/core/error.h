#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace trireme {

/// What a message tells the user: where it happened, what was found, which rule it breaks, what to
/// do. Empty parts are left out. Sentences without a full stop; numbers with units.
struct Trouble {
  std::string where = {};
  std::string what = {};
  std::string rule = {};
  std::string remedy = {};
};

/// "where: what; rule; remedy".
[[nodiscard]] std::string text_of(const Trouble& trouble);

/// The one exception type: something the user or the machine did. Our own mistakes are assertions
/// instead. what() is text_of() the trouble behind the rank's place: "[rank 5 = p1 t0 d1] where:
/// what; rule; remedy".
class Error : public std::runtime_error {
 public:
  /// usage: the command line or a run file is wrong (exit 2). run: everything else (exit 1).
  enum class Kind { usage, run };

  Error(Kind kind, const Trouble& trouble);
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] int exit_status() const { return kind_ == Kind::usage ? 2 : 1; }
  [[nodiscard]] const Trouble& trouble() const { return trouble_; }

 private:
  Kind kind_;
  Trouble trouble_;
};

[[noreturn]] void fail(const Trouble& trouble);
[[noreturn]] void fail_usage(const Trouble& trouble);

/// Names this thread's rank in every later message, as in "rank 5 = p1 t0 d1"; empty for none.
void set_place(std::string place);
[[nodiscard]] const std::string& place();

/// The text of an errno value, as in "No such file or directory".
[[nodiscard]] std::string errno_text(int error_number);

/// Ends the program with a word on what went wrong in our own code. Always on.
[[noreturn]] void broken_invariant(const char* expression, const char* file, int line,
                                   std::string_view words);

}  // namespace trireme

/// Our own mistakes: checked in every build, for conditions that cost nothing beside what they
/// guard.
#define TRIREME_ASSERT(condition, words)                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      ::trireme::broken_invariant(#condition, __FILE__, __LINE__, words); \
    }                                                                     \
  } while (false)
