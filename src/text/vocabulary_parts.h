#pragma once
// What the readers of vocab.json with merges.txt and of tokenizer.json share. For sources only.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/flat_map.h"
#include "text/vocabulary.h"

namespace trireme::text {

inline constexpr int64_t kMaxTokenId = INT32_MAX - 1;

/// Tokens as a file spells them (letters.h, or the text of a special token) to their ids.
using Ids = std::unordered_map<std::string, int32_t>;

/// The keys by id. Throws unless the ids are 0 to ids.size() - 1; `name` is the file's.
[[nodiscard]] std::vector<const std::string*> order_by_id(const std::string& name, const Ids& ids);

/// Throws unless every byte has a token.
void require_bytes(const std::string& name, const Ids& ids);

/// Throws when the text of a special or added token spells the bytes of another token.
void require_no_twin(const std::string& where, const std::string& text, const Ids& ids);

/// Takes merges in their order and checks them against the ids.
class MergeTaker {
 public:
  /// Messages say "NAME UNIT 7": "merges.txt line 7". All must outlive it; `vocabulary` gets the
  /// merges and their results.
  MergeTaker(std::string name, std::string unit, const Ids& ids, Vocabulary& vocabulary);

  void take(const std::string& left, const std::string& right, int64_t number);
  /// Whether a merge makes this token.
  [[nodiscard]] bool makes(size_t id) const { return made_[id]; }
  [[nodiscard]] std::string where(int64_t number) const;

 private:
  [[nodiscard]] int32_t id_of(const std::string& token, int64_t number) const;

  std::string name_;
  std::string unit_;
  const Ids& ids_;
  Vocabulary& vocabulary_;
  std::vector<bool> made_;
  FlatMap<int64_t> number_of_;  // by pair; 0: not seen
};

}  // namespace trireme::text
