#include "core/fuzz.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"

// A whole file needs an entry for each of the 256 bytes, which a fuzzer would hardly keep: they are
// put in where the bytes "@BYTES@" stand.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trireme;
  static const std::string kBytes = [] {
    const std::string vocab = text::to_vocab_json(text::make_vocabulary({}, {}));
    return vocab.substr(1, vocab.size() - 2);
  }();
  std::string json(fuzz::text_of(data, size));
  constexpr std::string_view kMark = "@BYTES@";
  const size_t mark = json.find(kMark);
  if (mark != std::string::npos) json.replace(mark, kMark.size(), kBytes);

  text::Vocabulary read;
  if (!fuzz::accepted([&] { read = text::parse_tokenizer_json(json, "fuzz"); })) return 0;
  const std::string written = text::to_tokenizer_json(read);
  fuzz::require(text::parse_tokenizer_json(written, "fuzz") == read,
                "writing and reading are inverse");
  const text::Tokenizer tokenizer(read);
  for (const std::string_view sample :
       {std::string_view("The oars' 12345\n\n \xFF<x>"), std::string_view(json).substr(0, 200)}) {
    // A pattern may need too many steps for a text, which is refused.
    fuzz::accepted([&] {
      const std::vector<int32_t> ids = tokenizer.encode(sample, {.parse_special_tokens = true});
      fuzz::require(tokenizer.decode(ids) == sample, "decoding gives the text back");
    });
  }
  return 0;
}
