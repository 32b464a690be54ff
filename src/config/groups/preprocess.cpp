#include "config/groups/preprocess.h"

#include <array>
#include <utility>

#include "core/format.h"

namespace trireme::config {

const Group& PreprocessOptions::group() {
  using O = PreprocessOptions;
  static const Group table = {
      "Preprocessing",
      "from text to token files; joining and looking at token files",
      {
          field(&O::input, {.name = "input",
                            .help = "text or JSONL files, also .gz and .zst, and folders of them; "
                                    "- is standard input",
                            .otherwise = "none",
                            .positional = true}),
          field(&O::output_prefix,
                {.name = "output-prefix",
                 .help = "writes PREFIX_KEY_document.bin and .idx, KEY from json-keys; with merge "
                         "PREFIX.bin and .idx",
                 .otherwise = "none"}),
          field(&O::json_keys, {.name = "json-keys",
                                .help = "keys of the JSON objects whose text is taken, an output "
                                        "pair for each"}),
          field(&O::input_format,
                {.name = "input-format",
                 .help = "what the files are; auto: .jsonl, .ndjson and .json are JSONL, all "
                         "others plain text",
                 .words = {"auto", "text", "jsonl"}}),
          field(&O::split_documents_on,
                {.name = "split-documents-on",
                 .help = "plain text: what stands between two documents of a file, as in \\n\\n or "
                         "\\n<|endoftext|>\\n; \\n \\t \\r \\0 \\\\ as in C",
                 .otherwise = "a file is a document"}),
          field(&O::on_bad_line,
                {.name = "on-bad-line",
                 .help = "a line of JSONL that is malformed, lacks a key or has another type under "
                         "it: fail with its number, or skip and count it",
                 .words = {"fail", "skip"}}),
          field(&O::append_eod,
                {.name = "append-eod", .help = "end each document with the end-of-text token"}),
          field(&O::workers, {.name = "workers",
                              .help = "threads; 0: the cores that this process may use; changes "
                                      "no result",
                              .range = at_least(0)}),
          field(&O::log_interval, {.name = "log-interval",
                                   .help = "between two lines of progress where there is no "
                                           "terminal",
                                   .unit = "documents",
                                   .range = at_least(1)}),
          field(&O::merge, {.name = "merge",
                            .help = "instead of input: prefixes of datasets to join in this order, "
                                    "or folders of them",
                            .otherwise = "none"}),
          field(&O::inspect, {.name = "inspect",
                              .help = "instead of input: prefix of a dataset to look at",
                              .otherwise = "none"}),
          field(&O::json, {.name = "json", .help = "with inspect: print JSON, for programs"}),
      }};
  return table;
}

std::optional<std::string> PreprocessOptions::split_text() const {
  constexpr std::array<std::pair<char, char>, 5> kEscapes = {
      {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'0', '\0'}, {'\\', '\\'}}};
  const std::string written = split_documents_on.value_or("");
  std::string text;
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i] != '\\') {
      text += written[i];
      continue;
    }
    const char letter = ++i < written.size() ? written[i] : '?';
    bool known = false;
    for (const auto& [name, byte] : kEscapes) {
      if (name != letter) continue;
      text += byte;
      known = true;
    }
    if (!known) return std::nullopt;
  }
  return text;
}

std::optional<Conflict> PreprocessOptions::validate() const {
  const std::array<std::pair<const char*, bool>, 3> tasks = {
      {{"input", !input.empty()}, {"merge", !merge.empty()}, {"inspect", inspect.has_value()}}};
  const char* task = nullptr;
  for (const auto& [name, given] : tasks) {
    if (!given) continue;
    if (task != nullptr) {
      return Conflict{.names = {name, task},
                      .what = format("{} and {} are both given", task, name),
                      .rule =
                          "one thing is done at a time: input is preprocessed, merge joins "
                          "datasets, inspect looks at one",
                      .remedy = "leave one of them out"};
    }
    task = name;
  }
  if (task == nullptr) {
    return Conflict{.names = {"input"},
                    .what = "there is nothing to do",
                    .rule =
                        "input names text to preprocess, merge datasets to join, inspect a "
                        "dataset to look at",
                    .remedy = "give one of them"};
  }
  const bool writes = !inspect;
  if (writes != output_prefix.has_value()) {
    return Conflict{
        .names = {"output-prefix"},
        .what = writes ? format("{} without output-prefix", task) : "output-prefix with inspect",
        .rule = writes ? "the dataset needs a name" : "inspect writes nothing",
        .remedy = writes ? "give output-prefix, as in --output-prefix data/books" : "leave it out"};
  }
  const PreprocessOptions plain;
  const std::array<std::pair<const char*, bool>, 7> of_input = {
      {{"json-keys", json_keys != plain.json_keys},
       {"input-format", input_format != plain.input_format},
       {"split-documents-on", split_documents_on != plain.split_documents_on},
       {"on-bad-line", on_bad_line != plain.on_bad_line},
       {"append-eod", append_eod},
       {"workers", workers != plain.workers && !inspect},
       {"log-interval", log_interval != plain.log_interval}}};
  for (const auto& [name, given] : of_input) {
    if (!given || !input.empty()) continue;
    return Conflict{.names = {name, task},
                    .what = format("{} has no effect with {}", name, task),
                    .rule = "it is about preprocessing text",
                    .remedy = "leave it out"};
  }
  if (json && !inspect) {
    return Conflict{.names = {"json"},
                    .what = "json without inspect",
                    .rule = "it is the form in which inspect answers",
                    .remedy = "leave it out"};
  }
  if (!split_text()) {
    return Conflict{.names = {"split-documents-on"},
                    .what = format("split-documents-on is '{}'", *split_documents_on),
                    .rule = "behind a backslash stands n, t, r, 0 or another backslash",
                    .remedy = "write a backslash as \\\\"};
  }
  return std::nullopt;
}

}  // namespace trireme::config
