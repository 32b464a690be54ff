// From .idx to batches: the orders of samples of 10^9 and 10^11 tokens, a blend, the cache's file,
// and how fast batches are filled. What to hold the numbers against: the same shuffles alone, and
// the copy bandwidth, both measured in the same run.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <numeric>

#include "bench/machine.h"
#include "core/file.h"
#include "core/format.h"
#include "core/log.h"
#include "data/feed.h"
#include "data/indexed_writer.h"
#include "data/legacy_shuffler.h"
#include "data/open_sources.h"
#include "data/sample_index_file.h"

namespace trireme {
namespace {

template <class F>
double seconds_of(F&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Lengths of 1 to 1999 tokens, 1000 in the mean.
std::vector<int32_t> lengths_of(int64_t documents) {
  data::LegacyShuffler random(1);
  std::vector<int32_t> lengths(static_cast<size_t>(documents));
  for (int32_t& length : lengths) length = static_cast<int32_t>(1 + random.bounded(1998));
  return lengths;
}

void bench_index(int64_t documents, int64_t sequence_length, double epochs, const Path& folder,
                 const bench::Machine& machine, ThreadPool& pool) {
  const std::vector<int32_t> lengths = lengths_of(documents);
  const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  const auto requested = static_cast<int64_t>(epochs * static_cast<double>(tokens) /
                                              static_cast<double>(sequence_length));
  const data::IndexPlan plan =
      data::plan_index({0, documents}, tokens, {sequence_length, requested, 1234});
  std::optional<data::SampleIndex> index;
  const double build =
      seconds_of([&] { index.emplace(data::build_sample_index(plan, lengths, pool)); });
  const double shuffles = [&] {
    std::vector<int32_t> sequences(static_cast<size_t>(plan.positions()));
    std::vector<uint32_t> order(static_cast<size_t>(plan.samples()));
    data::LegacyShuffler shuffler(1234);
    return seconds_of([&] {
      shuffler.shuffle(std::span(sequences));
      shuffler.shuffle(std::span(order));
    });
  }();
  const data::IndexIdentity identity = data::identity_of(plan, lengths);
  const Path file = folder / identity.file_name();
  const double write = seconds_of([&] { data::write_index_file(file, identity, *index, pool); });
  const double read = seconds_of([&] { static_cast<void>(data::read_index_file(file, pool)); });
  const auto bytes = static_cast<double>(index->bytes().size());
  say(format(
      "order of {} tokens ({} documents, {} samples of {}, {} epochs, {}): {:.3f} s, {:.2f} "
      "times its two shuffles alone ({:.3f} s), {:.0f} times a copy of its bytes; file "
      "written in {:.3f} s, mapped and checked in {:.3f} s",
      count_text(static_cast<double>(tokens * plan.epochs.epochs)),
      count_text(static_cast<double>(documents)), count_text(static_cast<double>(plan.samples())),
      sequence_length, plan.epochs.epochs, bytes_text(bytes), build, build / shuffles, shuffles,
      build / (2 * bytes / machine.copy_bandwidth), write, read));
  std::filesystem::remove(file);
}

void bench_blend(int64_t datasets, int64_t samples) {
  std::vector<double> weights;
  for (int64_t i = 0; i < datasets; ++i) weights.push_back(1.0 / static_cast<double>(i + 1));
  const std::vector<double> shares = data::normalised_weights(weights);
  const double seconds =
      seconds_of([&] { static_cast<void>(data::BlendIndex::by_weights(shares, samples)); });
  say(format("blend of {} datasets, {} samples: {:.3f} s, {:.1f} ns a sample", datasets,
             count_text(static_cast<double>(samples)), seconds,
             seconds * 1e9 / static_cast<double>(samples)));
}

/// Batches of 8 sequences of 1024, all rules on, from a dataset in the page cache.
void bench_feed(const Path& folder, ThreadPool& pool) {
  constexpr int64_t kDocuments = 64000;
  const Path prefix = folder / "dataset";
  {
    data::IndexedWriter writer(prefix, data::TokenType::u16);
    std::vector<int32_t> document;
    for (const int32_t length : lengths_of(kDocuments)) {
      document.assign(static_cast<size_t>(length), 7);
      document.back() = 0;
      writer.append(document);
      writer.end_sequence();
      writer.end_document();
    }
    writer.commit();
  }
  constexpr int64_t kSamples = 60000;
  const data::OpenSources sources = data::open_sources({.data_path = {prefix.string()},
                                                        .split = "1",
                                                        .sequence_length = 1024,
                                                        .requested = {.train = kSamples}},
                                                       pool);
  const auto batches = std::make_shared<const data::Batches>(
      sources[data::Part::train].source, data::BatchRules{.vocab_size = 50257,
                                                          .eod = 0,
                                                          .reset_position_ids = true,
                                                          .reset_attention_mask = true,
                                                          .eod_mask_loss = true});
  for (const int threads : {0, 1, 2}) {
    data::BatchFeed feed(batches, {.micro_batch = 8},
                         [](int64_t at) { return at < kSamples ? int64_t{8} : int64_t{0}; },
                         {.threads = threads});
    const double seconds = seconds_of([&] {
      for (int64_t at = 0; at < kSamples; at += 8) {
        static_cast<void>(feed.begin());
        static_cast<void>(feed.microbatch(0));
      }
    });
    say(format("batches of 8 x 1024, all masks, {} thread{} reading ahead: {} tokens/s", threads,
               threads == 1 ? "" : "s", count_text(kSamples * 1024 / seconds)));
  }
}

void run(int64_t largest) {
  ThreadPool pool(usable_cores());
  const bench::Machine machine = bench::measure_machine(pool);
  bench::print(machine, pool.threads());
  std::string pattern = (std::filesystem::temp_directory_path() / "trireme-bench-XXXXXX").string();
  const Path folder = ::mkdtemp(pattern.data());
  bench_index(1'000'000, 1024, 1, folder, machine, pool);
  bench_index(1'000'000, 1024, 10, folder, machine, pool);
  if (largest > 1'000'000) bench_index(largest, 2048, 1, folder, machine, pool);
  bench_blend(3, 10'000'000);
  bench_blend(50, 10'000'000);
  bench_feed(folder, pool);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace trireme

/// The argument: documents of the largest order, 100 million unless it is given.
int main(int argc, char** argv) {
  trireme::run(argc > 1 ? std::atoll(argv[1]) : 100'000'000);
  return 0;
}
