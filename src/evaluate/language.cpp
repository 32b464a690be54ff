#include "evaluate/language.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/format.h"
#include "evaluate/batch_scorer.h"
#include "evaluate/windows.h"

namespace trireme::evaluate {
namespace {

// Bytes of text that each token stands for.
std::vector<int64_t> token_bytes(const text::Tokenizer& tokenizer) {
  std::vector<int64_t> bytes(static_cast<size_t>(tokenizer.vocab_size()));
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    bytes[static_cast<size_t>(id)] = static_cast<int64_t>(tokenizer.token_bytes(id).size());
  for (const int32_t id : tokenizer.special_tokens()) bytes[static_cast<size_t>(id)] = 0;
  return bytes;
}

// Of a sequence's labels that count. An id that the tokenizer lacks stands for no text.
int64_t counted_bytes(const data::BatchFields& fields, size_t sequence,
                      const std::vector<int64_t>& bytes) {
  int64_t sum = 0;
  for (size_t i = sequence; i < fields.labels.size(); i += static_cast<size_t>(fields.sequences)) {
    const auto label = static_cast<size_t>(fields.labels[i]);
    if (fields.loss_mask[i] != 0 && label < bytes.size()) sum += bytes[label];
  }
  return sum;
}

}  // namespace

double LanguageResult::perplexity() const {
  return std::exp(loss());
}

double LanguageResult::bits_per_byte() const {
  return score.nats / std::log(2.0) / static_cast<double>(bytes);
}

LanguageResult evaluate_text(std::string_view text, std::string_view name,
                             const text::Tokenizer& tokenizer, int64_t stride,
                             const OpenSession& open, const ScorerOptions& options,
                             const OnProgress& on_progress) {
  const std::vector<int32_t> tokens = tokenizer.encode(text);
  if (tokens.size() < 2) {
    fail({.where = std::string(name),
          .what = format("the text has {} token{}", tokens.size(), tokens.empty() ? "s" : ""),
          .rule = "each token but the first is predicted",
          .remedy = "give a longer text"});
  }
  const std::vector<Passage> windows = cut_windows(tokens, options.longest, stride);
  LanguageResult result;
  for (const Score& score : score_passages(windows, open, options, on_progress))
    result.score += score;
  result.bytes = static_cast<int64_t>(text.size() - tokenizer.token_bytes(tokens[0]).size());
  return result;
}

LanguageResult evaluate_samples(const std::shared_ptr<const data::Batches>& batches, int64_t count,
                                const text::Tokenizer* tokenizer, const OpenSession& open,
                                int64_t sequences, const Team& team,
                                const data::FeedOptions& reading, const OnProgress& on_progress) {
  TRIREME_ASSERT(count > 0, "there are samples to evaluate");
  batches->require(0, count);
  const int64_t b = std::min(sequences, count);
  const std::vector<int64_t> bytes =
      tokenizer != nullptr ? token_bytes(*tokenizer) : std::vector<int64_t>();
  const std::unique_ptr<engine::Session> session = open(batches->sequence_length(), b);
  BatchScorer scorer(*session);
  struct Sample {
    Score score;
    int64_t bytes = 0;
  };
  std::vector<Sample> samples(static_cast<size_t>(count));
  // Batch n has the samples [n b, n b + b). The fields are those of b samples from `first` on; what
  // lies in front of the batch does not count again.
  const auto take = [&](const data::BatchFields& fields, int64_t n, int64_t first) {
    const std::span<const Score> scores = scorer.score(fields);
    for (auto i = static_cast<size_t>(n * b - first); i < scores.size(); ++i)
      samples[static_cast<size_t>(first) + i] = {scores[i], counted_bytes(fields, i, bytes)};
  };
  const data::RankShare share = {
      .micro_batch = b, .ranks = team.data_ranks(), .rank = team.data_rank()};
  const int64_t whole = count / share.block() * share.block();
  data::BatchFeed feed(
      batches, share, [=](int64_t at) { return at < whole ? share.block() : 0; }, reading);
  feed.seek(0);
  for (int64_t at = 0; at < whole; at += share.block()) {
    feed.begin();
    const int64_t first = at + share.rank * b;
    take(feed.microbatch(0), first / b, first);
    if (on_progress) on_progress(at + share.block(), count);
  }
  data::BatchFields fields;
  for (int64_t n = whole / b; n * b < count; ++n) {
    if (team.takes(n)) {
      const int64_t first = std::min(n * b, count - b);
      batches->fill(first, b, fields);
      take(fields, n, first);
    }
    if (on_progress) on_progress(std::min(n * b + b, count), count);
  }
  scorer.finish();
  team.share<Sample>(samples, [&](size_t i) { return static_cast<int64_t>(i) / b; });
  LanguageResult result;
  for (const Sample& sample : samples) {
    result.score += sample.score;
    result.bytes += sample.bytes;
  }
  if (result.score.tokens > 0) return result;
  fail({.where = "data",
        .what = format("no token counts in {} samples: the loss mask is zero everywhere", count),
        .rule = "the loss is a mean over counted tokens",
        .remedy = "evaluate more samples, or data with longer documents"});
}

}  // namespace trireme::evaluate
