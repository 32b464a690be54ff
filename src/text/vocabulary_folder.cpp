// A tokenizer's files in a folder.

#include <optional>

#include "core/error.h"
#include "text/tokenizer_json.h"
#include "text/vocabulary.h"

namespace trireme::text {
namespace {

/// Whether vocab.json and merges.txt would say all of it.
bool fits_two_files(const Vocabulary& vocabulary, const std::string& vocab_json,
                    const std::string& merges_txt) {
  Vocabulary compared = vocabulary;
  compared.end_of_document.reset();
  try {
    return parse_vocabulary(vocab_json, merges_txt) == compared;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Vocabulary read_vocabulary(const Path& vocab_json, const Path& merges_txt) {
  return parse_vocabulary(read_file(vocab_json), read_file(merges_txt),
                          {.vocab_json = vocab_json.string(), .merges_txt = merges_txt.string()});
}

std::vector<Path> tokenizer_files(const Path& model) {
  if (!std::filesystem::is_directory(model)) return {model};
  const Path json = model / "tokenizer.json";
  if (std::filesystem::exists(json)) return {json};
  const Path vocab = model / "vocab.json";
  if (std::filesystem::exists(vocab)) return {vocab, model / "merges.txt"};
  fail({.where = model.string(),
        .what = "has no tokenizer.json, and no vocab.json with merges.txt",
        .rule = "a folder with a tokenizer has one or the other"});
}

Vocabulary read_vocabulary(const Path& model) {
  const std::vector<Path> files = tokenizer_files(model);
  return files.size() == 1 ? read_tokenizer_json(files[0]) : read_vocabulary(files[0], files[1]);
}

void write_vocabulary(const Vocabulary& vocabulary, const Path& folder) {
  make_folder(folder);
  const Path vocab_path = folder / "vocab.json";
  const Path merges_path = folder / "merges.txt";
  // The first that is there new is the one that is read; the others never stand beside an older one
  // that is taken for theirs.
  AtomicFile json(folder / "tokenizer.json");
  json.write(to_tokenizer_json(vocabulary));
  json.sync();
  const std::string vocab_json = to_vocab_json(vocabulary);
  const std::string merges_txt = to_merges_txt(vocabulary);
  if (fits_two_files(vocabulary, vocab_json, merges_txt)) {
    AtomicFile vocab(vocab_path);
    AtomicFile merges(merges_path);
    vocab.write(vocab_json);
    merges.write(merges_txt);
    vocab.sync();
    merges.sync();
    json.commit();
    vocab.commit();
    merges.commit();
    return;
  }
  json.commit();
  for (const Path& stale : {vocab_path, merges_path}) {
    std::error_code error;
    if (std::filesystem::remove(stale, error) || !error) continue;
    fail_path("remove", stale, error.value());
  }
}

}  // namespace trireme::text
