#include "data/batches.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace trireme::data {
namespace {

/// Writes column `sequence` of the fields from the s + 1 tokens of a sample.
void fill_column(std::span<const int32_t> row, const BatchRules& rules, int64_t sequence,
                 BatchFields& fields) {
  const int64_t s = fields.positions_per_sequence;
  int32_t segment_start = 0;
  for (int64_t position = 0; position < s; ++position) {
    const auto at = static_cast<size_t>(position * fields.sequences + sequence);
    const int32_t token = row[static_cast<size_t>(position)];
    const bool is_eod = rules.eod >= 0 && token == rules.eod;
    const auto place = static_cast<int32_t>(position);
    fields.tokens[at] = token;
    fields.labels[at] = row[static_cast<size_t>(position) + 1];
    const bool counts = !(rules.eod_mask_loss && is_eod);
    fields.loss_mask[at] = counts ? 1.0F : 0.0F;
    fields.counted_tokens += counts ? 1 : 0;
    fields.positions[at] = rules.reset_position_ids ? place - segment_start : place;
    fields.segment_starts[at] = rules.reset_attention_mask ? segment_start : 0;
    if (is_eod) segment_start = place + 1;  // the EOD belongs to the document that it ends
  }
}

}  // namespace

void BatchRules::require_eod() const {
  if (eod >= 0 || !(reset_position_ids || reset_attention_mask || eod_mask_loss)) return;
  fail_usage({.where = "--reset-position-ids, --reset-attention-mask, --eod-mask-loss",
              .what = "there is no tokenizer with an end-of-document token",
              .rule = "these options act at end-of-document tokens",
              .remedy = "leave them out, or give a tokenizer with such a token"});
}

void BatchFields::resize(int64_t s, int64_t b) {
  positions_per_sequence = s;
  sequences = b;
  const auto elements = static_cast<size_t>(s * b);
  tokens.resize(elements);
  labels.resize(elements);
  loss_mask.resize(elements);
  positions.resize(elements);
  segment_starts.resize(elements);
  sample_positions.resize(static_cast<size_t>(b));
  workspace.resize(static_cast<size_t>(s) + 1);
}

Batches::Batches(std::shared_ptr<const SampleSource> source, const BatchRules& rules)
    : source_(std::move(source)), rules_(rules) {
  TRIREME_ASSERT(source_ != nullptr && rules.vocab_size > 0,
                 "batches have a source and a vocabulary");
  rules.require_eod();
}

void Batches::fill(int64_t first, int64_t sequences, BatchFields& fields) const {
  require(first, sequences);
  fields.resize(sequence_length(), sequences);
  fields.counted_tokens = 0;
  for (int64_t sequence = 0; sequence < sequences; ++sequence) {
    const int64_t k = first + sequence;
    source_->read(k, fields.workspace);
    check_ids(k, fields.workspace);
    fill_column(fields.workspace, rules_, sequence, fields);
    fields.sample_positions[static_cast<size_t>(sequence)] = k;
  }
}

int64_t Batches::counted_tokens(int64_t first, int64_t count) const {
  require(first, count);
  const int64_t s = sequence_length();
  if (!rules_.eod_mask_loss || count == 0) return count * s;
  std::vector<int32_t> row(static_cast<size_t>(s) + 1);
  int64_t masked = 0;
  for (int64_t k = first; k < first + count; ++k) {
    source_->read(k, row);
    masked += std::count(row.begin(), row.end() - 1, rules_.eod);
  }
  return count * s - masked;
}

void Batches::require(int64_t first, int64_t count) const {
  TRIREME_ASSERT(first >= 0 && count >= 0, "a range of samples");
  if (first + count > samples()) {
    fail({.where = "data",
          .what = format("samples {} to {} are asked for, the order has {}", first,
                         first + count - 1, samples()),
          .rule = "an order is as long as the run that it was made for",
          .remedy = "raise --train-iters or --train-samples to the length of the whole run"});
  }
}

void Batches::check_ids(int64_t k, std::span<const int32_t> tokens) const {
  // One unsigned maximum over the row: negative ids are large, too.
  uint32_t largest = 0;
  for (const int32_t token : tokens) largest = std::max(largest, static_cast<uint32_t>(token));
  if (largest < static_cast<uint64_t>(rules_.vocab_size)) return;
  const auto found = std::find_if(tokens.begin(), tokens.end(), [&](int32_t token) {
    return static_cast<uint32_t>(token) >= static_cast<uint64_t>(rules_.vocab_size);
  });
  fail({.where = source_->origin(k, found - tokens.begin()),
        .what = format("token id {}", *found),
        .rule = format("the vocabulary has the ids 0 to {}", rules_.vocab_size - 1),
        .remedy = "give the tokenizer that the dataset was made with"});
}

}  // namespace trireme::data
