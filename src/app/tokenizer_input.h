#pragma once
#include <string_view>
#include <vector>

#include "config/field.h"
#include "core/file.h"
#include "data/corpus_reader.h"

// What the subcommands of `trireme tokenizer` share: words of the command line to files, and
// standard output as a stream of bytes.

namespace trireme::app {

/// The files that the words name; "-", and no word at all, is standard input.
[[nodiscard]] std::vector<Path> input_paths(const config::Words& words);

/// Usage error unless --json-keys has an effect on some file, names a key and none twice.
void check_json_keys(const config::Words& keys, const data::CorpusReader& reader);

/// Bytes to standard output. Throws when they cannot be written.
void write_output(std::string_view bytes);

}  // namespace trireme::app
