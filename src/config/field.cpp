#include "config/field.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "config/nearest.h"
#include "core/format.h"

namespace trireme::config {
namespace {

constexpr double kLargestExact = 9007199254740992.0;  // 2^53

/// Length of the well-formed UTF-8 character that text starts with; 0 for none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, beyond U+10FFFF.
  const unsigned char second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string type_text(const Value& value) {
  if (std::holds_alternative<bool>(value)) return "a truth value";
  if (std::holds_alternative<int64_t>(value)) return "a whole number";
  if (std::holds_alternative<double>(value)) return "a real number";
  if (std::holds_alternative<std::string>(value)) return "a string";
  return "a list";
}

// As a file shows it: strings with quotes, so that 5 and '5' differ.
std::string shown(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return format("'{}'", *text);
  if (const auto* list = std::get_if<Words>(&value)) return format("[{}]", text_of(*list));
  return text_of(value);
}

}  // namespace

bool Range::contains(double x) const {
  if (low && (x < *low || (low_open && x == *low))) return false;
  if (high && (x > *high || (high_open && x == *high))) return false;
  return true;
}

std::string Range::text() const {
  // Whole bounds without exponent: 4294967295 rather than 4.29e+09.
  const auto number = [](double x) {
    const bool whole = x == std::floor(x) && std::abs(x) < kLargestExact;
    return whole ? format("{}", static_cast<int64_t>(x)) : format("{}", x);
  };
  if (low && high) {
    return format("in {}{}, {}{}", low_open ? '(' : '[', number(*low), number(*high),
                  high_open ? ')' : ']');
  }
  if (low) return format("{} {}", low_open ? ">" : ">=", number(*low));
  if (high) return format("{} {}", high_open ? "<" : "<=", number(*high));
  return "";
}

std::string Source::text() const {
  if (file.empty()) return "command line";
  return line > 0 ? format("{}:{}", file, line) : file;
}

std::string Source::spelled(std::string_view name) const {
  return file.empty() ? format("--{}", name) : std::string(name);
}

std::string normalised(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

std::string text_of(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "on" : "off";
  if (const auto* whole = std::get_if<int64_t>(&value)) return format("{}", *whole);
  if (const auto* real = std::get_if<double>(&value)) return format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* list = std::get_if<Words>(&value)) {
    return format("{}", fmt::join(*list, " "));
  }
  return "not set";
}

bool Field::is_called(std::string_view other) const {
  return other == name || std::find(aliases.begin(), aliases.end(), other) != aliases.end();
}

std::string Field::takes() const {
  std::string text;
  switch (kind) {
    case Kind::flag:
      return "no value (a flag)";
    case Kind::integer:
      text = "a whole number";
      break;
    case Kind::real:
      text = "a number";
      break;
    case Kind::text:
      text = "a text";
      break;
    case Kind::path:
      text = "a path";
      break;
    case Kind::word:
      text = format("one of {}", fmt::join(words, ", "));
      break;
    case Kind::list:
      text = "one or more words";
      break;
  }
  if (const std::string bounds = range.text(); !bounds.empty()) text += " " + bounds;
  if (!unit.empty()) text += format(" ({})", unit);
  return text;
}

std::string Field::default_text() const {
  if (required) return "required";
  const auto* text = std::get_if<std::string>(&initial);
  const auto* list = std::get_if<Words>(&initial);
  const bool empty = std::holds_alternative<std::monostate>(initial) ||
                     (text != nullptr && text->empty()) || (list != nullptr && list->empty());
  return empty ? otherwise : text_of(initial);
}

void Field::refuse(const std::string& what, const Source& source, const std::string& remedy) const {
  const std::string spelled = source.spelled(name);
  const bool flag_in_file = kind == Kind::flag && !source.file.empty();
  fail_usage({.where = source.text(),
              .what = format("{} {}", spelled, what),
              .rule = format("{} takes {}", spelled, flag_in_file ? "true or false" : takes()),
              .remedy = remedy});
}

Value Field::number(const std::string& word, const Source& source) const {
  const char* const end = word.data() + word.size();
  double real = 0;
  const auto [real_end, real_error] = std::from_chars(word.data(), end, real);
  const bool is_real = real_error == std::errc() && real_end == end && std::isfinite(real);
  if (kind == Kind::real) {
    if (is_real) return real;
    if (real_error == std::errc::result_out_of_range && real_end == end) {
      refuse(format("'{}' does not fit in a double", word), source, "use a number nearer to 1");
    }
    refuse(format("'{}' is not a number", word), source,
           "write a decimal number, as in 0.1, 12 or 6e-5");
  }
  int64_t whole = 0;
  const auto [whole_end, whole_error] = std::from_chars(word.data(), end, whole);
  if (whole_error == std::errc() && whole_end == end) return whole;
  if (whole_error == std::errc::result_out_of_range && whole_end == end) {
    refuse(format("'{}' does not fit in 64 bits", word), source, "use a smaller number");
  }
  const bool is_whole = is_real && real == std::floor(real) && std::abs(real) < kLargestExact;
  refuse(format("'{}' is not a whole number in digits", word), source,
         is_whole ? format("write {}", static_cast<int64_t>(real)) : "write digits, as in 12");
}

Value Field::from_words(const Words& given, const Source& source) const {
  if (kind == Kind::flag) {
    if (given.empty()) return true;
    refuse(format("was given '{}'", given.front()), source,
           format("write --{} to turn it on, --no-{} to turn it off", name, name));
  }
  if (given.empty()) {
    refuse("has no value", source, format("write it behind --{}", name));
  }
  Value value;
  if (kind == Kind::integer || kind == Kind::real) {
    value = number(given.front(), source);
  } else if (kind == Kind::list) {
    value = given;
  } else {
    value = given.front();
  }
  check(value, source);
  return value;
}

Value Field::from_typed(const Value& given, const Source& source) const {
  Value value;
  const bool scalar_text = kind == Kind::text || kind == Kind::path || kind == Kind::word;
  if (kind == Kind::flag && std::holds_alternative<bool>(given)) value = given;
  if (kind == Kind::integer && std::holds_alternative<int64_t>(given)) value = given;
  if (kind == Kind::real) {
    if (std::holds_alternative<double>(given)) value = given;
    if (const auto* whole = std::get_if<int64_t>(&given)) value = static_cast<double>(*whole);
  }
  if (scalar_text && std::holds_alternative<std::string>(given)) value = given;
  if (kind == Kind::list) {
    if (std::holds_alternative<Words>(given)) {
      value = given;
    } else if (!std::holds_alternative<bool>(given)) {
      value = Words{text_of(given)};
    }
  }
  if (std::holds_alternative<std::monostate>(value)) {
    refuse(format("is {}, {}", shown(given), type_text(given)), source, "change its type");
  }
  check(value, source);
  return value;
}

void Field::check(const Value& value, const Source& source) const {
  const auto check_number = [&](double x) {
    if (!std::isfinite(x)) refuse(format("is {}", x), source, "use a finite number");
    if (range.contains(x)) return;
    // The nearest allowed value where there is one: a closed bound that was overstepped.
    std::string remedy = "use a number inside";
    if (range.low && x < *range.low && !range.low_open) {
      remedy = format("use {} or more", text_of(Value(*range.low)));
    } else if (range.high && x > *range.high && !range.high_open) {
      remedy = format("use {} or less", text_of(Value(*range.high)));
    }
    refuse(format("is {}", text_of(value)), source, remedy);
  };
  if (const auto* whole = std::get_if<int64_t>(&value)) check_number(static_cast<double>(*whole));
  if (const auto* real = std::get_if<double>(&value)) check_number(*real);
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (!is_utf8(*text)) refuse("is not valid UTF-8", source, "use UTF-8 text");
    if (kind == Kind::path && text->empty()) {
      refuse("is empty", source, "give a path (is a shell variable empty?)");
    }
    if (kind == Kind::word && std::find(words.begin(), words.end(), *text) == words.end()) {
      const auto meant = nearest(*text, words);
      refuse(format("is '{}'", *text), source, format("use {}", meant.value_or(words.front())));
    }
  }
  if (const auto* list = std::get_if<Words>(&value)) {
    for (const std::string& item : *list) {
      if (!is_utf8(item)) refuse("has an item that is not UTF-8", source, "use UTF-8 text");
      if (item.empty()) refuse("has an empty item", source, "remove it");
    }
  }
}

}  // namespace trireme::config
