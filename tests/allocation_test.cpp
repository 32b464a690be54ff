// Nothing allocates inside a step: memory is planned before the first one.

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <cstdlib>
#include <thread>

#include "allocation_counter.h"
#include "core/format.h"
#include "cut_ranks.h"
#include "data/indexed_writer.h"
#include "data/open_sources.h"

namespace trireme {
namespace {

using testing_memory::Allocations;

struct alignas(64) Aligned {
  std::array<float, 64> values;
};

/// Counts what is allocated by any thread, readers of data included, from the begin of the first
/// action of each global batch to the end of its last; of the first batch, nothing.
class BatchWatch final : public engine::Observer {
 public:
  BatchWatch(engine::Session& session, const schedule::Schedule& schedule)
      : session_(session), actions_(schedule.actions.size()) {
    session.add_observer(*this);
  }
  ~BatchWatch() override { session_.remove_observer(*this); }
  BatchWatch(const BatchWatch&) = delete;
  BatchWatch& operator=(const BatchWatch&) = delete;

  void begin(const schedule::Action&) override {
    if (done_++ % actions_ == 0 && done_ > actions_) testing_memory::start_counting();
  }
  void end(const schedule::Action&) override {
    if (done_ % actions_ != 0 || done_ <= actions_) return;
    const Allocations one = testing_memory::stop_counting();
    all_.by_new += one.by_new;
    all_.by_map += one.by_map;
    all_.by_malloc += one.by_malloc;
    ++batches_;
  }
  /// Of so many batches behind the first nothing is ours.
  void expect_none(int batches, const std::string& where) const {
    EXPECT_EQ(batches_, batches) << where;
    testing_memory::expect_none(all_, where);
  }

 private:
  engine::Session& session_;
  size_t actions_;
  size_t done_ = 0;
  int batches_ = 0;
  Allocations all_;
};

TEST(Allocations, AreSeenByTheCounter) {
  testing_memory::start_counting();
  const auto one = std::make_unique<int>(1);
  const auto aligned = std::make_unique<Aligned>();
  std::thread([] { EXPECT_NE(std::make_unique<int>(2), nullptr); }).join();
  void* raw = std::malloc(100);
  device::CpuDevice cpu(1);
  const device::Arena arena(cpu, 1 << 20);
  const Allocations found = testing_memory::stop_counting();
  EXPECT_NE(raw, nullptr);
  EXPECT_NE(arena.data(), nullptr);
  std::free(raw);
  EXPECT_GE(found.by_new, 3);
  if (!testing_memory::kCountsMalloc) return;
  EXPECT_GE(found.by_malloc, 1);
  EXPECT_GE(found.by_map, 1);
}

// Documents of all lengths in two datasets that are blended, read from files.
class AllocationsOfARun : public testing::Test {
 protected:
  AllocationsOfARun() {
    std::string pattern = testing::TempDir() + "trireme-allocation-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    for (const char* name : {"a", "b"}) {
      data::IndexedWriter writer(folder_ / name, data::TokenType::u16);
      for (int document = 0; document < 300; ++document) {
        for (int32_t i = 0; i <= document % 70; ++i)
          writer.append(std::vector{static_cast<int32_t>((i * 7 + document) % kWords)});
        writer.end_sequence();
        writer.end_document();
      }
      writer.commit();
    }
    ThreadPool pool(1);
    samples_ = data::open_sources({.data_path = {"3", folder_ / "a", "7", folder_ / "b"},
                                   .split = "100,0,0",
                                   .sequence_length = kLength,
                                   .requested = {.train = 200}},
                                  pool)[data::Part::train]
                   .source;
  }
  ~AllocationsOfARun() override { std::filesystem::remove_all(folder_); }

  static data::BatchRules rules(bool by_document) {
    return {.vocab_size = kWords,
            .eod = 5,
            .reset_position_ids = by_document,
            .reset_attention_mask = by_document,
            .eod_mask_loss = by_document};
  }

  Path folder_;
  std::shared_ptr<const data::SampleSource> samples_;
};

TEST_F(AllocationsOfARun, AreNoneInAStepBehindTheFirst) {
  for (const bool by_document : {false, true}) {
    for (const int threads : {1, 3}) {
      for (const int readers : {0, 2}) {
        // Both forms of attention, each in half of the cases.
        const auto form = (threads == 1) == (readers == 0) ? model::AttentionForm::recomputed
                                                           : model::AttentionForm::stored;
        TestRun run({.threads = threads, .microbatches = 3, .readers = readers, .attention = form},
                    samples_, rules(by_document));
        BatchWatch watch(run.session, run.session.plan().largest_batch().schedule);
        run.steps(7);
        watch.expect_none(6, format("6 steps, {} threads, {} readers, documents {}", threads,
                                    readers, by_document ? "apart" : "joined"));
      }
    }
  }
}

TEST_F(AllocationsOfARun, AreNoneInAnEvaluation) {
  TestRun run({.threads = 2}, samples_, rules(true));
  run.steps(1);
  for (const int readers : {0, 2}) {
    const schedule::Schedule& schedule = run.session.plan().evaluation->schedule;
    BatchWatch watch(run.session, schedule);
    static_cast<void>(train::evaluate_loss(
        run.session, run.batches, 0, 5 * run.session.plan().global_batch(schedule.microbatches),
        {.threads = readers}));
    watch.expect_none(4, format("4 batches of an evaluation, {} readers", readers));
  }
}

// Of all ranks together: counts from where the last one begins a step's first action to where the
// last one ends its last, and holds the others until then.
class StepWatch final : public engine::Observer {
 public:
  // What the ranks share.
  struct Meeting {
    explicit Meeting(int ranks)
        : begins(ranks, Turn{*this, true}), ends(ranks, Turn{*this, false}) {}
    // Run by the last one to come.
    struct Turn {
      Meeting& meeting;
      bool begin;
      void operator()() const noexcept {
        if (begin) {
          testing_memory::start_counting();
        } else {
          const Allocations one = testing_memory::stop_counting();
          meeting.all.by_new += one.by_new;
          meeting.all.by_map += one.by_map;
          meeting.all.by_malloc += one.by_malloc;
          ++meeting.steps;
        }
      }
    };
    std::barrier<Turn> begins;
    std::barrier<Turn> ends;
    Allocations all;
    int steps = 0;
  };

  StepWatch(Meeting& meeting, const schedule::Schedule& schedule)
      : meeting_(meeting), actions_(schedule.actions.size()) {}
  void begin(const schedule::Action&) override {
    if (done_++ % actions_ == 0) meeting_.begins.arrive_and_wait();
  }
  void end(const schedule::Action&) override {
    if (done_ % actions_ == 0) meeting_.ends.arrive_and_wait();
  }

 private:
  Meeting& meeting_;
  size_t actions_;
  size_t done_ = 0;
};

TEST(Allocations, AreNoneInAStepOfEightRanksBehindTheFirst) {
  EightRanks eight;
  eight.model.shape.layers = 4;
  Cut interleaved = eight.cut;
  interleaved.v = 2;
  Cut threaded = eight.cut;
  threaded.threads = 2;
  for (const Cut& cut : {eight.cut, interleaved, threaded}) {
    StepWatch::Meeting meeting(EightRanks::kRanks);
    comm::run_ranks({.ranks = EightRanks::kRanks, .places = eight.places}, [&](comm::Port& port) {
      RankRun rank(port, eight.model, cut);
      static_cast<void>(rank.trainer.step());
      StepWatch watch(meeting, rank.session.plan().largest_batch().schedule);
      rank.session.add_observer(watch);
      for (int step = 0; step < 6; ++step) static_cast<void>(rank.trainer.step());
      rank.session.remove_observer(watch);
    });
    EXPECT_EQ(meeting.steps, 6);
    testing_memory::expect_none(meeting.all, "6 steps of " + cut.text());
  }
}

TEST(Allocations, AreNoneInADecodingStep) {
  device::CpuDevice cpu(2);
  comm::SoloCommunicator solo;
  constexpr int64_t kCapacity = 12;
  engine::Session session(
      model::plan_run({.shape = {.layers = 2,
                                 .hidden = 16,
                                 .heads = 2,
                                 .ffn = 64,
                                 .length = kCapacity,
                                 .positions = kCapacity,
                                 .vocabulary = kWords},
                       .profile = {.threads = 2},
                       .train = false,
                       .decode = {.capacity = kCapacity, .places = 1}}),
      {.device = &cpu, .kernels = &ops::cpu_kernels(), .profile = {.threads = 2}}, solo);
  train::initialise_weights(session, kSeed, cpu.pool());
  std::vector<float> logits(kWords);
  const auto decode = [&](int32_t position) {
    using program::BatchField;
    const std::array<int32_t, 1> one = {position};
    const std::array<int32_t, 1> place = {0};
    const std::array<int64_t, 1> sample = {0};
    session.write_field<int32_t>(BatchField::tokens, MicrobatchId{0}, one);
    session.write_field<int32_t>(BatchField::positions, MicrobatchId{0}, one);
    session.write_field<int32_t>(BatchField::places, MicrobatchId{0}, place);
    session.write_field<int64_t>(BatchField::samples, MicrobatchId{0}, sample);
    session.decode(logits);
  };
  decode(0);
  testing_memory::start_counting();
  for (int32_t position = 1; position < kCapacity; ++position) decode(position);
  const Allocations found = testing_memory::stop_counting();
  testing_memory::expect_none(found, "11 steps of decoding");
}

}  // namespace
}  // namespace trireme
