#pragma once
// What the tests of this folder share.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace trireme::text {

inline const Path& testdata() {
  static const Path folder = Path(TRIREME_SOURCE_DIR) / "src" / "text" / "testdata";
  return folder;
}

inline const Tokenizer& small_tokenizer() {
  static const Tokenizer tokenizer =
      Tokenizer::load(testdata() / "small" / "vocab.json", testdata() / "small" / "merges.txt");
  return tokenizer;
}

/// A test with an empty folder of its own.
class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    std::string pattern = testing::TempDir() + "trireme-text-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~FolderTest() override { std::filesystem::remove_all(folder_); }
  Path folder_;
};

/// The message of the error that the action throws; "no error" when there is none.
inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline int32_t find_token(const Vocabulary& vocabulary, std::string_view bytes) {
  const auto found = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), bytes);
  return static_cast<int32_t>(found - vocabulary.tokens.begin());
}

using Random = std::mt19937_64;

inline size_t below(Random& random, size_t bound) {
  return random() % bound;
}

inline std::string random_bytes(Random& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() & 0xFF);
  return bytes;
}

/// Text of what split patterns look at: letters, digits, spaces, line feeds, apostrophes, other
/// scripts, white space of several bytes, bytes that are not valid.
inline std::string random_text(Random& random, size_t parts) {
  static const std::array<std::string_view, 29> kParts = {
      "a",  "e",    "th",   "oar",      "S",      "s",      "t",      "re",     "'",         "'",
      " ",  " ",    " ",    "\n",       "\n",     "\r\n",   "\t",     "7",      "12",        ".",
      "!?", "\xC2", "\xFF", "\xC2\x85", "\u00e9", "\u4e09", "\u3000", "\u180e", "\U0001f6a3"};
  std::string text;
  for (size_t part = 0; part < parts; ++part) text += kParts[below(random, kParts.size())];
  return text;
}

}  // namespace trireme::text
