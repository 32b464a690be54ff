#include "evaluate/scorer.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "evaluate/batch_scorer.h"

namespace trireme::evaluate {
namespace {

constexpr int64_t kLengthStep = 64;

// Positions of the class that a length belongs to.
int64_t class_of(int64_t length, int64_t longest) {
  return std::min((length + kLengthStep - 1) / kLengthStep * kLengthStep, longest);
}

// Passages by the positions that they run with.
using Classes = std::map<int64_t, std::vector<size_t>>;

void join_small(Classes& classes, int64_t least) {
  for (auto here = classes.begin(); here != classes.end();) {
    const auto next = std::next(here);
    if (next == classes.end()) return;
    if (static_cast<int64_t>(here->second.size()) < least) {
      next->second.insert(next->second.end(), here->second.begin(), here->second.end());
      classes.erase(here);
    }
    here = next;
  }
}

// A passage as one sequence of the fields; what is behind its end does not count.
void fill_column(const Passage& passage, int64_t sequence, data::BatchFields& fields) {
  for (int64_t position = 0; position < fields.positions_per_sequence; ++position) {
    const auto at = static_cast<size_t>(position * fields.sequences + sequence);
    const auto p = static_cast<size_t>(position);
    const bool inside = position < passage.length();
    fields.tokens[at] = inside ? passage.tokens[p] : 0;
    fields.labels[at] = inside ? passage.tokens[p + 1] : 0;
    fields.loss_mask[at] = inside && position + 1 >= passage.first_counted ? 1.0F : 0.0F;
    fields.positions[at] = static_cast<int32_t>(position);
    fields.segment_starts[at] = 0;
  }
  fields.sample_positions[static_cast<size_t>(sequence)] = 0;  // keys dropout, which is off
}

}  // namespace

std::vector<Score> score_passages(std::span<const Passage> passages, const OpenSession& open,
                                  const ScorerOptions& options, const OnProgress& on_progress) {
  Classes classes;
  int64_t all = 0;
  for (size_t i = 0; i < passages.size(); ++i) {
    const Passage& passage = passages[i];
    TRIREME_ASSERT(
        passage.first_counted >= 1 && passage.counted() >= 1 && passage.length() <= options.longest,
        "a passage predicts something and fits");
    classes[class_of(passage.length(), options.longest)].push_back(i);
    all += passage.counted();
  }
  join_small(classes, options.sequences);
  std::vector<Score> scores(passages.size());
  std::vector<int64_t> batch_of(passages.size());
  int64_t batch = 0;
  int64_t done = 0;
  data::BatchFields fields;
  for (const auto& [length, members] : classes) {
    const int64_t b = std::min(options.sequences, static_cast<int64_t>(members.size()));
    std::unique_ptr<engine::Session> session;  // where a batch is this rank's
    std::optional<BatchScorer> scorer;
    fields.resize(length, b);
    for (size_t first = 0; first < members.size(); first += static_cast<size_t>(b), ++batch) {
      const size_t count = std::min(static_cast<size_t>(b), members.size() - first);
      const auto of_batch = std::span(members).subspan(first, count);
      for (const size_t passage : of_batch) {
        batch_of[passage] = batch;
        done += passages[passage].counted();
      }
      if (options.team.takes(batch)) {
        if (!session) scorer.emplace(*(session = open(length, b)));
        for (size_t j = 0; j < static_cast<size_t>(b); ++j) {
          // Places behind the last passage: an empty one.
          fill_column(j < count ? passages[of_batch[j]]
                                : Passage{.tokens = passages[of_batch[0]].tokens.first(1)},
                      static_cast<int64_t>(j), fields);
        }
        const std::span<const Score> made = scorer->score(fields);
        for (size_t j = 0; j < count && !made.empty(); ++j) scores[of_batch[j]] = made[j];
      }
      if (on_progress) on_progress(done, all);
    }
    if (scorer) scorer->finish();
  }
  options.team.share<Score>(scores, [&](size_t passage) { return batch_of[passage]; });
  return scores;
}

}  // namespace trireme::evaluate
