#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/lines.h"
#include "evaluate/passage.h"
#include "text/tokenizer.h"

namespace trireme::evaluate {

/// The tokens of a context and of what is to be predicted behind it.
class EncodedPair {
 public:
  /// Each text is encoded by itself. Where both together take more than `longest` positions, the
  /// front of the context is left out.
  ///
  /// Throws, naming the line, when the target alone does not fit, or one of the two has no token.
  EncodedPair(std::string_view context, std::string_view target, const text::Tokenizer& tokenizer,
              int64_t longest, const Line& line);

  [[nodiscard]] Passage passage() const {
    return {.tokens = tokens_, .first_counted = first_counted_};
  }
  [[nodiscard]] bool truncated() const { return truncated_; }

 private:
  std::vector<int32_t> tokens_;
  int64_t first_counted_ = 0;
  bool truncated_ = false;
};

}  // namespace trireme::evaluate
