#include "text/pattern.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/format.h"

namespace trireme::text {
namespace {

constexpr std::string_view kMeta = R"(\[](){}.*+?^$|)";
constexpr std::string_view kWhiteSpace = "{White_Space}";

bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~') || c == ' ';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Reads a pattern from left to right and writes it for PCRE2.
class Translation {
 public:
  explicit Translation(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '(') {
        open_group();
      } else if (c == ')') {
        close_group();
      } else if (c == '[') {
        set();
      } else if (c == '*' || c == '+' || c == '?' || c == '{') {
        repeat();
      } else if (c == '|') {
        take(1);
        atom_ = false;
        letter_ = 0;
      } else {
        one();
        atom_ = true;
      }
    }
    if (!groups_.empty()) refuse("a group has no end");
    return std::move(out_);
  }

 private:
  struct Group {
    bool any_case;  // inside (?i:...)
    bool is_look;   // a look ahead or behind, which cannot be repeated
  };

  [[noreturn]] void refuse(const std::string& what) const {
    fail({.where = "split pattern",
          .what = format("at offset {}: {}", at_, what),
          .rule = "a pattern must mean the same in Oniguruma, for which it was written, and here",
          .remedy = "docs/formats.md lists what is understood"});
  }

  [[nodiscard]] std::string_view rest() const { return pattern_.substr(at_); }
  [[nodiscard]] bool any_case() const { return !groups_.empty() && groups_.back().any_case; }

  void take(size_t count) {
    out_ += pattern_.substr(at_, count);
    at_ += count;
  }

  void open_group() {
    static constexpr std::string_view kOpen[] = {
        "(?:", "(?>", "(?i:", "(?=", "(?!", "(?<=", "(?<!"};
    Group group = {.any_case = any_case(), .is_look = false};
    size_t length = 1;
    if (rest().starts_with("(?")) {
      const auto* known =
          std::find_if(std::begin(kOpen), std::end(kOpen),
                       [&](std::string_view open) { return rest().starts_with(open); });
      if (known == std::end(kOpen)) refuse("this kind of group is not supported");
      length = known->size();
      group.any_case = group.any_case || *known == "(?i:";
      group.is_look = known->back() == '=' || known->back() == '!';
    }
    take(length);
    groups_.push_back(group);
    atom_ = false;
    letter_ = 0;
  }

  void close_group() {
    if (groups_.empty()) refuse("\")\" ends no group");
    atom_ = !groups_.back().is_look;
    groups_.pop_back();
    take(1);
    letter_ = 0;
  }

  void set() {
    take(1);
    if (rest().starts_with("^")) take(1);
    if (rest().starts_with("]")) refuse("\"]\" must be written \"\\]\" here");
    while (!rest().starts_with("]")) {
      if (rest().empty()) refuse("a set has no end");
      if (rest().starts_with("[")) refuse("sets inside sets are not supported; a \"[\" is \"\\[\"");
      if (rest().starts_with("&&")) refuse("intersections of sets are not supported");
      if (rest()[0] == '\\') {
        escape();
      } else {
        character();
      }
      letter_ = 0;
    }
    take(1);
    atom_ = true;
  }

  void repeat() {
    if (!atom_) refuse("there is nothing to repeat");
    atom_ = false;
    letter_ = 0;
    if (rest()[0] != '{') {
      take(1);
      if (rest().starts_with("?") || rest().starts_with("+")) take(1);
      return;
    }
    size_t end = 1;
    const auto digits = [&] {
      const size_t begin = end;
      while (end < rest().size() && is_digit(rest()[end])) ++end;
      return end - begin;
    };
    bool sound = digits() > 0;
    const bool range = sound && end < rest().size() && rest()[end] == ',';
    if (range) {
      ++end;
      digits();
    }
    sound = sound && end < rest().size() && rest()[end] == '}';
    if (!sound) refuse("\"{\" begins none of {n} {n,} {n,m}");
    const bool lazy = rest().substr(end + 1).starts_with("?");
    if (rest().substr(end + 1).starts_with("+") || (lazy && !range))
      refuse("what stands behind this repeat means different things in Oniguruma and elsewhere");
    take(end + 1 + (lazy ? 1 : 0));
  }

  /// One character or class outside a set.
  void one() {
    const char c = rest()[0];
    if (c == '\\') {
      escape();
    } else if (c == '.') {
      take(1);
      letter_ = 0;
    } else if (kMeta.find(c) != kMeta.npos) {
      refuse(format("\"{}\" is not supported; as a character it is \"\\{}\"", c, c));
    } else {
      character();
    }
  }

  void character() {
    const char c = rest()[0];
    if (c == 0) refuse("a zero byte");
    if (any_case()) {
      if ((c & 0x80) != 0) refuse("a character beyond ASCII inside (?i:...)");
      // Oniguruma also takes one character, as U+FB01, for these two.
      static constexpr std::string_view kTogether[] = {"ss", "st", "ff", "fi", "fl"};
      const auto lower = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
      for (const std::string_view two : kTogether) {
        if (letter_ == two[0] && lower == two[1])
          refuse(format("\"{}\" inside (?i:...) is not supported", two));
      }
      letter_ = lower;
    }
    take(1);
  }

  void escape() {
    letter_ = 0;
    if (rest().size() < 2) refuse("\"\\\" at the end");
    const char c = rest()[1];
    if (is_punctuation(c) || c == 't' || c == 'n' || c == 'f' || c == 'r') {
      take(2);
    } else if (c == 'v') {  // PCRE2's is a class
      out_ += "\\x0B";
      at_ += 2;
    } else if (c == 'x' || c == 'u') {
      number(c);
    } else if (any_case()) {
      refuse("a class inside (?i:...)");
    } else if (c == 's' || c == 'S') {
      out_ += c == 's' ? "\\p" : "\\P";
      out_ += kWhiteSpace;
      at_ += 2;
    } else if (c == 'd' || c == 'D') {
      take(2);
    } else if (c == 'p' || c == 'P') {
      property();
    } else {
      refuse(format("\"\\{}\" is not supported", c));
    }
  }

  /// \xHH, \x{H...} and \uHHHH.
  void number(char kind) {
    const bool braces = kind == 'x' && rest().size() > 2 && rest()[2] == '{';
    const size_t begin = braces ? 3 : 2;
    size_t end = begin;
    while (end < rest().size() && is_hex(rest()[end])) ++end;
    size_t digits = end - begin;
    const size_t fixed = kind == 'u' ? 4 : 2;
    if (!braces) digits = std::min(digits, fixed);
    const bool whole = braces ? digits > 0 && rest().substr(end).starts_with("}") : digits == fixed;
    if (!whole) refuse("a number of a character that is not whole");
    if (kind == 'x' && !braces && rest()[begin] >= '8')
      refuse("\\xHH is a byte from 0x80 on; write \\x{HH} for the character");
    if (any_case()) refuse("the number of a character inside (?i:...)");
    out_ += format("\\x{{{}}}", rest().substr(begin, digits));
    at_ += begin + digits + (braces ? 1 : 0);
  }

  void property() {
    const size_t end = rest().find('}');
    if (rest().size() < 3 || rest()[2] != '{' || end == std::string_view::npos)
      refuse("a property is written \\p{Name}");
    const std::string_view name = rest().substr(3, end - 3);
    const bool letters = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    });
    if (!letters) refuse(format("the property \"{}\" is not supported", name));
    // A name of one or two letters is a general category. Others are scripts, for which PCRE2 would
    // take the extended ones.
    const bool plain = name.size() <= 2 || name == "White_Space";
    out_ += format("{}{{{}{}}}", rest().substr(0, 2), plain ? "" : "sc:", name);
    at_ += end + 1;
  }

  std::string_view pattern_;
  size_t at_ = 0;
  std::string out_;
  std::vector<Group> groups_;  // that are open
  bool atom_ = false;          // something stands before that can be repeated
  char letter_ = 0;            // the character before, inside (?i:...)
};

}  // namespace

std::string_view named_pattern(std::string_view name) {
  if (name == "gpt2") return kGpt2Pattern;
  if (name == "llama3") return kLlama3Pattern;
  if (name == "qwen2") return kQwen2Pattern;
  return {};
}

std::string to_pcre2(std::string_view pattern) {
  return Translation(pattern).run();
}

std::string pattern_of_text(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (kMeta.find(c) != kMeta.npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

bool cuts_at_lines(std::string_view pattern) {
  return pattern == kGpt2Pattern || pattern == kLlama3Pattern || pattern == kQwen2Pattern;
}

}  // namespace trireme::text
