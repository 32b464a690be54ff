#include <algorithm>

#include "core/fuzz.h"
#include "text/tokenizer.h"

// vocab.json, a zero byte, merges.txt. The 256 bytes stand where "@BYTES@" does.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trireme;
  static const std::string kBytes = [] {
    const std::string vocab = text::to_vocab_json(text::make_vocabulary({}, {}));
    return vocab.substr(1, vocab.size() - 2);
  }();
  const std::string_view input = fuzz::text_of(data, size);
  const size_t middle = std::min(input.find('\0'), input.size());
  std::string vocab_json(input.substr(0, middle));
  const std::string_view merges_txt = input.substr(std::min(middle + 1, input.size()));
  constexpr std::string_view kMark = "@BYTES@";
  const size_t mark = vocab_json.find(kMark);
  if (mark != std::string::npos) vocab_json.replace(mark, kMark.size(), kBytes);

  text::Vocabulary read;
  if (!fuzz::accepted([&] { read = text::parse_vocabulary(vocab_json, merges_txt); })) return 0;
  fuzz::require(text::parse_vocabulary(to_vocab_json(read), to_merges_txt(read)) == read,
                "writing and reading are inverse");
  const text::Tokenizer tokenizer(std::move(read));
  const std::vector<int32_t> ids = tokenizer.encode(input);
  fuzz::require(tokenizer.decode(ids) == input, "decoding gives the text back");
  return 0;
}
