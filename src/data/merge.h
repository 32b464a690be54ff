#pragma once
#include <vector>

#include "core/file.h"
#include "data/indexed_format.h"

namespace trireme::data {

/// The prefixes that are meant: a folder stands for all PREFIX.idx in it, in the order of their
/// names. Throws where a folder has none.
[[nodiscard]] std::vector<Path> dataset_prefixes(const std::vector<Path>& inputs);

struct MergedDataset {
  TokenType token_type = TokenType::u16;
  int64_t documents = 0;
  int64_t sequences = 0;
  int64_t tokens = 0;
};

/// Writes one dataset with the documents of all, in the order given: the files that preprocessing
/// the corpora one behind the other would have made. Memory: 8 bytes per document. Throws, with
/// nothing left behind, where token types differ or the output is one of the inputs.
[[nodiscard]] MergedDataset merge_datasets(const std::vector<Path>& prefixes, const Path& output);

}  // namespace trireme::data
