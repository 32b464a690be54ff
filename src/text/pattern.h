#pragma once
#include <string>
#include <string_view>

namespace trireme::text {

/// Split patterns are regular expressions as tokenizer.json holds them: Oniguruma's syntax, Unicode
/// classes. What is understood is what means the same there and in PCRE2, or can be said in it:
///
///   characters, "." (all but the line feed), escaped punctuation, \t \n \v \f \r, \xHH below 0x80,
///     \x{H...}, \uHHHH
///   \s \S (the Unicode property White_Space: PCRE2's own \s also takes U+180E), \d \D
///   \p{...} \P{...}: general categories, scripts, White_Space
///   sets [...] of these, without sets inside sets
///   | and groups: (...), (?:...), (?>...), (?i:...), (?=...), (?!...), (?<=...), (?<!...)
///   * + ? with ? or + behind them; {n} {n,} {n,m}, the last two with ? behind them
///
/// Everything else is refused, among it what both know but read differently: \w \b \h ^ $, {n,m}+,
/// classes and letters beyond ASCII inside (?i:...).

/// GPT-2's: contractions, then runs of letters, of numbers, of symbols, each with at most one space
/// before it, then white space, whose last character stays behind for what follows.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Llama 3's and GPT-4's: contractions in any case; letters with any one symbol or space before
/// them; numbers in groups of at most three; symbols with the line ends behind them; line ends with
/// the white space before them.
inline constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Qwen 2's: like Llama 3's, but every number is alone.
inline constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The pattern above that is called "gpt2", "llama3" or "qwen2"; empty for every other name.
[[nodiscard]] std::string_view named_pattern(std::string_view name);

/// The pattern in PCRE2's syntax. Throws for what is not understood, with its offset.
[[nodiscard]] std::string to_pcre2(std::string_view pattern);

/// The pattern that matches this text and nothing else.
[[nodiscard]] std::string pattern_of_text(std::string_view text);

/// Whether a line feed without white space on either side always ends a piece, and neither side
/// looks beyond it, so that a text may be cut there (find_cut in tokenizer.h). Known of the
/// patterns above; false for every other.
[[nodiscard]] bool cuts_at_lines(std::string_view pattern);

}  // namespace trireme::text
