#include "evaluate/encoded_pair.h"

#include "core/format.h"

namespace trireme::evaluate {

EncodedPair::EncodedPair(std::string_view context, std::string_view target,
                         const text::Tokenizer& tokenizer, int64_t longest, const Line& line) {
  tokenizer.encode(context, tokens_);
  first_counted_ = static_cast<int64_t>(tokens_.size());
  tokenizer.encode(target, tokens_);
  const auto count = static_cast<int64_t>(tokens_.size());
  if (first_counted_ == 0 || count == first_counted_) {
    refuse(line,
           first_counted_ == 0 ? "there is nothing in front of what is to be predicted"
                               : "there is nothing to be predicted",
           "an example has a context and what follows it");
  }
  if (count <= longest + 1) return;
  // One token of the context has to stay.
  const int64_t excess = count - (longest + 1);
  if (excess >= first_counted_) {
    refuse(line, format("{} tokens are to be predicted", count - first_counted_),
           format("the model reads {} tokens at a time", longest));
  }
  tokens_.erase(tokens_.begin(), tokens_.begin() + excess);
  first_counted_ -= excess;
  truncated_ = true;
}

}  // namespace trireme::evaluate
