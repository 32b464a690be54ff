#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "data/sample_source.h"

namespace trireme::data {

/// How the tokens of a sample become fields. Names as Megatron-LM's options.
struct BatchRules {
  int64_t vocab_size = 0;             ///< V; a token id outside [0, V) is refused
  int32_t eod = -1;                   ///< id of the end-of-document token; -1: none
  bool reset_position_ids = false;    ///< positions count from 0 again behind each EOD
  bool reset_attention_mask = false;  ///< a token sees only its own document of the sample
  bool eod_mask_loss = false;         ///< a position whose input token is EOD has no loss

  /// Usage error when a rule needs an EOD token and there is none.
  void require_eod() const;
};

/// The fields of b sequences of s positions on the host, [s, b]: index = position * b + sequence.
struct BatchFields {
  int64_t positions_per_sequence = 0;   ///< s
  int64_t sequences = 0;                ///< b
  std::vector<int32_t> tokens;          ///< [s, b] input ids
  std::vector<int32_t> labels;          ///< [s, b] the token that follows
  std::vector<float> loss_mask;         ///< [s, b] 1 where the label counts, else 0
  std::vector<int32_t> positions;       ///< [s, b] position for the position embedding
  std::vector<int32_t> segment_starts;  ///< [s, b] first position a token may attend to: 0, or the
                                        ///< start of its document within the sample
  std::vector<int64_t> sample_positions;  ///< [b] consumed-sample position of each sequence
  int64_t counted_tokens = 0;             ///< sum of the loss mask
  std::vector<int32_t> workspace;         ///< [s + 1], for fill

  /// Allocates for s and b, so that fill of the same sizes allocates nothing.
  void resize(int64_t s, int64_t b);
};

/// What the trainer reads. Sequence i of a fill is sample first + i of the source: the content
/// depends on the position alone, never on how a global batch is cut into microbatches and ranks.
/// Immutable; several threads may fill, each into its own fields.
class Batches {
 public:
  /// Throws a usage error when a rule needs an EOD token and there is none.
  Batches(std::shared_ptr<const SampleSource> source, const BatchRules& rules);

  [[nodiscard]] int64_t samples() const { return source_->samples(); }
  [[nodiscard]] int64_t sequence_length() const { return source_->sequence_length(); }
  [[nodiscard]] const BatchRules& rules() const { return rules_; }
  [[nodiscard]] const SampleSource& source() const { return *source_; }

  /// Samples [first, first + sequences) of the order. Throws when they are not there (the source
  /// has fewer samples) or hold an id outside the vocabulary; the message names file and sequence.
  void fill(int64_t first, int64_t sequences, BatchFields& fields) const;

  /// Sum of the loss mask over samples [first, first + count). Reads the data only where a rule
  /// masks something; who fills all of them knows it from their fields (feed.h).
  [[nodiscard]] int64_t counted_tokens(int64_t first, int64_t count) const;

  /// Throws unless the source has samples [first, first + count).
  void require(int64_t first, int64_t count) const;

 private:
  void check_ids(int64_t k, std::span<const int32_t> tokens) const;

  std::shared_ptr<const SampleSource> source_;
  BatchRules rules_;
};

}  // namespace trireme::data
