#include "app/tokenizer_input.h"

#include <cerrno>
#include <cstdio>
#include <set>

#include "core/error.h"

namespace trireme::app {

std::vector<Path> input_paths(const config::Words& words) {
  const Path standard_input = "/dev/stdin";
  if (words.empty()) return {standard_input};
  std::vector<Path> paths;
  for (const std::string& word : words) paths.push_back(word == "-" ? standard_input : Path(word));
  return paths;
}

void check_json_keys(const config::Words& keys, const data::CorpusReader& reader) {
  const bool odd =
      keys.empty() || std::set<std::string>(keys.begin(), keys.end()).size() != keys.size();
  if (odd) {
    fail_usage(
        {.where = "--json-keys", .what = keys.empty() ? "names no key" : "names a key twice"});
  }
  if (keys == config::Words{"text"}) return;
  for (size_t file = 0; file < reader.files().size(); ++file) {
    if (reader.is_json(file)) return;
  }
  fail_usage({.where = "--json-keys",
              .what = "has no effect: all files are plain text",
              .rule = "JSONL is what ends in .jsonl, .ndjson or .json"});
}

void write_output(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return;
  fail({.where = "standard output",
        .what = errno_text(errno),
        .remedy = "the output is not whole; make room or write elsewhere"});
}

}  // namespace trireme::app
