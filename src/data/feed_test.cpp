#include "data/feed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "data/test_dataset.h"

namespace trireme::data {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kLength = 5;
constexpr int32_t kEod = 9;

/// Sample k has the tokens k, k + 1, ... mod 10, so that some are EOD. Counts reads, and may be
/// made to fail or to hang.
class CountingSamples final : public SampleSource {
 public:
  explicit CountingSamples(int64_t samples)
      : samples_(samples), reads_(new std::atomic<int>[static_cast<size_t>(samples)]()) {}
  [[nodiscard]] int64_t samples() const override { return samples_; }
  [[nodiscard]] int64_t sequence_length() const override { return kLength; }
  void read(int64_t k, std::span<int32_t> tokens) const override {
    ++reads_[static_cast<size_t>(k)];
    if (k == fails_at) fail({.where = "disk", .what = "sample " + std::to_string(k)});
    if (k == hangs_at) {
      std::unique_lock lock(mutex_);
      released_.wait(lock, [&] { return open_; });
      ended_ = true;
      released_.notify_all();
    }
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = static_cast<int32_t>((static_cast<size_t>(k) + i) % 10);
  }
  [[nodiscard]] std::string origin(int64_t k, int64_t) const override {
    return "some.bin: sample " + std::to_string(k);
  }
  [[nodiscard]] int reads(int64_t k) const { return reads_[static_cast<size_t>(k)]; }
  void release_and_wait() const {
    std::unique_lock lock(mutex_);
    open_ = true;
    released_.notify_all();
    released_.wait(lock, [&] { return ended_; });
  }

  int64_t fails_at = -1;
  int64_t hangs_at = -1;

 private:
  int64_t samples_;
  std::unique_ptr<std::atomic<int>[]> reads_;
  mutable std::mutex mutex_;
  mutable std::condition_variable released_;
  mutable bool open_ = false;
  mutable bool ended_ = false;
};

std::shared_ptr<const Batches> batches_of(std::shared_ptr<const CountingSamples> samples,
                                          bool mask = false) {
  return std::make_shared<const Batches>(
      std::move(samples), BatchRules{.vocab_size = 10, .eod = kEod, .eod_mask_loss = mask});
}

std::function<int64_t(int64_t)> always(int64_t samples) {
  return [samples](int64_t) { return samples; };
}

/// Sequences of the fields by sample position: tokens, and the mask behind them.
using Sequences = std::map<int64_t, std::vector<int32_t>>;
void collect(const BatchFields& fields, Sequences& all) {
  for (int64_t b = 0; b < fields.sequences; ++b) {
    std::vector<int32_t> one;
    for (int64_t p = 0; p < kLength; ++p)
      one.push_back(fields.tokens[static_cast<size_t>(p * fields.sequences + b)]);
    for (int64_t p = 0; p < kLength; ++p)
      one.push_back(
          static_cast<int32_t>(fields.loss_mask[static_cast<size_t>(p * fields.sequences + b)]));
    const int64_t k = fields.sample_positions[static_cast<size_t>(b)];
    EXPECT_TRUE(all.emplace(k, std::move(one)).second) << k << " came twice";
  }
}

TEST(BatchFeed, AGlobalBatchIsTheSameForAllRanksMicrobatchesAndThreads) {
  constexpr int64_t kGlobal = 12;
  for (const bool mask : {false, true}) {
    const auto batches = batches_of(std::make_shared<CountingSamples>(48), mask);
    Sequences expected;
    BatchFields fields;
    batches->fill(0, 48, fields);
    collect(fields, expected);
    for (const int64_t d : {1, 2, 3, 4}) {
      for (const int64_t b : {1, 3, 4, 12}) {
        if (kGlobal % (b * d) != 0) continue;
        for (const int threads : {0, 1, 3}) {
          Sequences all;
          std::map<int64_t, int64_t> counted;
          for (int64_t rank = 0; rank < d; ++rank) {
            BatchFeed feed(batches, {b, d, rank}, always(kGlobal), {.threads = threads});
            for (int64_t first = 0; first < 48; first += kGlobal) {
              const GlobalBatch batch = feed.begin();
              EXPECT_EQ(batch.first, first);
              EXPECT_EQ(batch.samples, kGlobal);
              EXPECT_EQ(batch.microbatches, kGlobal / (b * d));
              EXPECT_EQ(batch.counted_tokens, batches->counted_tokens(first, kGlobal));
              for (int64_t m = 0; m < batch.microbatches; ++m) {
                const BatchFields& got = feed.microbatch(m);
                EXPECT_EQ(got.sample_positions[0], first + m * b * d + rank * b);
                collect(got, all);
              }
            }
          }
          EXPECT_EQ(all, expected) << "d " << d << " b " << b << " threads " << threads;
        }
      }
    }
  }
}

TEST(BatchFeed, ReadsNoSampleTwiceAndOtherRanksSamplesOnlyForTheMask) {
  for (const int threads : {0, 2}) {
    for (const bool mask : {false, true}) {
      const auto samples = std::make_shared<const CountingSamples>(24);
      BatchFeed feed(batches_of(samples, mask), {2, 3, 1}, always(12), {.threads = threads});
      for (int i = 0; i < 2; ++i) {
        const GlobalBatch batch = feed.begin();
        for (int64_t m = 0; m < batch.microbatches; ++m) static_cast<void>(feed.microbatch(m));
      }
      for (int64_t k = 0; k < 24; ++k) {
        const bool own = k % 6 / 2 == 1;
        EXPECT_EQ(samples->reads(k), own || mask ? 1 : 0) << k;
      }
    }
  }
}

TEST(BatchFeed, FollowsAGlobalBatchThatGrows) {
  // 4 up to sample 8, then 8 up to 24, then the end.
  const auto size = [](int64_t consumed) { return consumed < 8 ? 4 : consumed < 24 ? 8 : 0; };
  for (const int threads : {0, 2}) {
    for (const bool mask : {false, true}) {
      const auto batches = batches_of(std::make_shared<CountingSamples>(40), mask);
      BatchFeed feed(batches, {2, 1, 0}, size, {.threads = threads});
      Sequences all;
      for (const int64_t samples : {4, 4, 8, 8}) {
        const GlobalBatch batch = feed.begin();
        EXPECT_EQ(batch.samples, samples);
        for (int64_t m = 0; m < batch.microbatches; ++m) collect(feed.microbatch(m), all);
      }
      EXPECT_EQ(all.size(), 24U);
      EXPECT_EQ(all.rbegin()->first, 23);
    }
  }
}

TEST(BatchFeed, ResumesAtAnyPositionAlsoInTheMiddle) {
  const auto batches = batches_of(std::make_shared<CountingSamples>(60), true);
  for (const int threads : {0, 1, 2}) {
    BatchFeed feed(batches, {2, 1, 0}, always(6), {.threads = threads});
    for (const int64_t position : {0, 30, 12, 54, 3, 48, 6}) {
      feed.seek(position);
      const GlobalBatch batch = feed.begin();
      EXPECT_EQ(batch.first, position);
      EXPECT_EQ(batch.counted_tokens, batches->counted_tokens(position, 6));
      for (int64_t m = 0; m < 2; ++m) {  // of three
        const BatchFields& fields = feed.microbatch(m);
        EXPECT_EQ(fields.sample_positions[0], position + 2 * m);
        EXPECT_EQ(fields.tokens[0], (position + 2 * m) % 10);
      }
    }
  }
}

TEST(BatchFeed, ReadsAheadAndNotTooFar) {
  const auto samples = std::make_shared<const CountingSamples>(100);
  const auto read = [&] {
    int64_t count = 0;
    for (int64_t k = 0; k < 100; ++k) count += samples->reads(k);
    return count;
  };
  BatchFeed feed(batches_of(samples), {1, 1, 0}, always(10), {.threads = 2});
  static_cast<void>(feed.begin());
  while (read() < 4) std::this_thread::sleep_for(milliseconds(1));  // nobody has asked yet
  static_cast<void>(feed.microbatch(0));
  while (read() < 5) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(read(), 5);  // the one in use, and 2 per thread
}

TEST(BatchFeed, CarriesAFailureToTheMicrobatchThatNeedsIt) {
  for (const int threads : {0, 1, 2}) {
    const auto samples = std::make_shared<CountingSamples>(40);
    samples->fails_at = 13;
    BatchFeed feed(batches_of(samples), {2, 1, 0}, always(8), {.threads = threads});
    static_cast<void>(feed.begin());
    for (int64_t m = 0; m < 4; ++m) static_cast<void>(feed.microbatch(m));
    static_cast<void>(feed.begin());
    static_cast<void>(feed.microbatch(0));
    static_cast<void>(feed.microbatch(1));
    EXPECT_EQ(error_of([&] { static_cast<void>(feed.microbatch(2)); }), "disk: sample 13");
    // With masks the whole global batch needs it.
    BatchFeed masked(batches_of(samples, true), {2, 1, 0}, always(8), {.threads = threads});
    masked.seek(8);
    EXPECT_EQ(error_of([&] { static_cast<void>(masked.begin()); }), "disk: sample 13");
  }
}

TEST(BatchFeed, IdsOutsideTheVocabularyAreNamedByTheirFile) {
  const auto samples = std::make_shared<const CountingSamples>(10);
  const auto batches = std::make_shared<const Batches>(samples, BatchRules{.vocab_size = 9});
  BatchFeed feed(batches, {1, 1, 0}, always(10), {.threads = 2});
  static_cast<void>(feed.begin());
  static_cast<void>(feed.microbatch(0));
  static_cast<void>(feed.microbatch(1));
  static_cast<void>(feed.microbatch(2));
  static_cast<void>(feed.microbatch(3));
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(feed.microbatch(4)); }),
                       "some.bin: sample 4: token id 9"));
}

TEST(BatchFeed, SaysWhenTheOrderHasNotSoManySamples) {
  for (const int threads : {0, 2}) {
    BatchFeed feed(batches_of(std::make_shared<CountingSamples>(10)), {2, 1, 0}, always(4),
                   {.threads = threads});
    feed.seek(8);
    EXPECT_TRUE(contains(error_of([&] { static_cast<void>(feed.begin()); }), "the order has 10"));
  }
}

TEST(BatchFeed, WaitsNoLongerThanItsPatienceAndNamesTheFile) {
  const auto samples = std::make_shared<CountingSamples>(20);
  samples->hangs_at = 6;
  {
    BatchFeed feed(batches_of(samples), {2, 1, 0}, always(10),
                   {.threads = 2, .patience = milliseconds(50)});
    static_cast<void>(feed.begin());
    for (int64_t m = 0; m < 3; ++m) static_cast<void>(feed.microbatch(m));
    const std::string error = error_of([&] { static_cast<void>(feed.microbatch(3)); });
    EXPECT_TRUE(contains(error, "some.bin: sample 6: samples 6 to 7 were not read within"))
        << error;
  }  // does not wait for the thread that hangs
  samples->release_and_wait();
}

TEST(BatchFeed, EndsAtAnyMomentWithoutHanging) {
  for (int round = 0; round < 200; ++round) {
    const auto samples = std::make_shared<const CountingSamples>(1000);
    BatchFeed feed(batches_of(samples, round % 2 == 0), {2, 1, 0}, always(20), {.threads = 3});
    if (round % 5 == 0) continue;
    static_cast<void>(feed.begin());
    for (int64_t m = 0; m < round % 10; ++m) static_cast<void>(feed.microbatch(m));
    if (round % 3 == 0) feed.seek(500);
  }
}

}  // namespace
}  // namespace trireme::data
