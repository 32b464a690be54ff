#include "data/feed.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::data {

/// One block of b d samples: this rank's microbatch, and what the other ranks' part counts. Belongs
/// to its reader until it is ready.
struct BatchFeed::Block {
  int64_t first = 0;
  BatchFields fields;
  int64_t counted_tokens = 0;
  std::exception_ptr failure;
  bool ready = false;    // guarded by the feed's mutex
  bool dropped = false;  // by a seek while it was read; likewise
};

// Shared by the feed and its threads. Blocks are handed to readers, and taken from them by the
// consumer, in ascending order. All but the content of blocks is guarded by the mutex.
struct BatchFeed::State {
  using BlockPtr = std::shared_ptr<Block>;

  State(std::shared_ptr<const Batches> b, const RankShare& s, std::function<int64_t(int64_t)> g,
        const FeedOptions& o)
      : batches(std::move(b)), share(s), global_batch(std::move(g)), options(o) {}

  const std::shared_ptr<const Batches> batches;
  const RankShare share;
  const std::function<int64_t(int64_t)> global_batch;
  const FeedOptions options;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<BlockPtr> queue;  // read, or being read; the front is the next one to be taken
  std::vector<BlockPtr> spare;  // with memory for the next ones
  size_t blocks = 0;            // in all
  int64_t next_block = 0;       // first sample of the block to hand out
  int64_t batch_end = 0;        // of the global batch that it belongs to
  GlobalBatch current;
  int64_t taken = 0;     // microbatches of the current global batch
  int64_t position = 0;  // where the next global batch begins
  int running = 0;       // threads
  bool stop = false;
  bool gave_up = false;

  [[nodiscard]] bool counts_masks() const { return batches->rules().eod_mask_loss; }

  [[nodiscard]] int64_t batch_at(int64_t consumed) const {
    const int64_t samples = global_batch(consumed);
    TRIREME_ASSERT(samples >= 0 && samples % share.block() == 0, "a global batch is whole blocks");
    return samples;
  }

  // Blocks that are read ahead of the consumer.
  [[nodiscard]] int64_t most_ahead() const {
    const int64_t whole = counts_masks() ? batch_at(position) / share.block() : 0;
    return 2 * options.threads + whole;
  }
  [[nodiscard]] bool wants_more() const {
    return static_cast<int64_t>(queue.size()) < most_ahead();
  }

  // Allocates what reading up to there takes, so that nothing does while a step runs: what is ahead
  // (at least the next one), and the block in use.
  void make_room() {
    const auto most = static_cast<size_t>(std::max<int64_t>(most_ahead(), 1) + 1);
    queue.reserve(most);
    spare.reserve(most + static_cast<size_t>(options.threads));  // dropped ones come back
    while (blocks < most) spare.push_back(new_block());
  }

  BlockPtr new_block() {
    auto block = std::make_shared<Block>();
    block->fields.resize(batches->sequence_length(), share.micro_batch);
    ++blocks;
    return block;
  }

  // The next block to read, put into the queue; null at the end of the run and of the order.
  BlockPtr hand_out() {
    if (next_block == batch_end) batch_end += batch_at(next_block);
    if (next_block == batch_end || next_block + share.block() > batches->samples()) return nullptr;
    if (spare.empty()) spare.push_back(new_block());
    BlockPtr block = std::move(spare.back());
    spare.pop_back();
    block->first = next_block;
    block->failure = nullptr;
    block->ready = false;
    block->dropped = false;
    next_block += share.block();
    queue.push_back(block);
    return block;
  }

  // Without the mutex.
  void read(Block& block) const {
    try {
      const int64_t own = block.first + share.rank * share.micro_batch;
      const int64_t behind = own + share.micro_batch;
      batches->fill(own, share.micro_batch, block.fields);
      block.counted_tokens = block.fields.counted_tokens +
                             batches->counted_tokens(block.first, own - block.first) +
                             batches->counted_tokens(behind, block.first + share.block() - behind);
    } catch (...) {
      block.failure = std::current_exception();
    }
  }

  void work() {
    std::unique_lock lock(mutex);
    while (!stop) {
      const BlockPtr block = wants_more() ? hand_out() : nullptr;
      if (block == nullptr) {
        changed.wait(lock);
        continue;
      }
      lock.unlock();
      read(*block);
      lock.lock();
      block->ready = true;
      if (block->dropped) spare.push_back(block);
      changed.notify_all();
    }
    --running;
    changed.notify_all();
  }

  void start_threads(const std::shared_ptr<State>& self, std::vector<std::thread>& threads) {
    const std::lock_guard lock(mutex);
    while (static_cast<int>(threads.size()) < options.threads) {
      try {
        threads.emplace_back([self, rank = place()] {
          set_place(rank);
          self->work();
        });
        ++running;
      } catch (const std::system_error& error) {
        fail({.where = "data",
              .what = format("cannot start thread {} of --num-workers: {}", threads.size() + 1,
                             error.what()),
              .remedy = "use a smaller --num-workers"});
      }
    }
  }

  // Block i of the queue, read. `lock` holds the mutex.
  const Block& wait_for(size_t i, std::unique_lock<std::mutex>& lock) {
    while (options.threads == 0 && queue.size() <= i) {
      const BlockPtr block = hand_out();
      TRIREME_ASSERT(block != nullptr, "a global batch that was begun is there");
      read(*block);
      block->ready = true;
    }
    const auto there = [&] { return queue.size() > i && queue[i]->ready; };
    if (changed.wait_for(lock, options.patience, there)) return *queue[i];
    gave_up = true;
    const int64_t first = next_block - static_cast<int64_t>(queue.size() - i) * share.block();
    lock.unlock();
    fail({.where = batches->source().origin(first, 0),
          .what =
              format("samples {} to {} were not read within {}", first, first + share.block() - 1,
                     duration_text(std::chrono::duration<double>(options.patience).count())),
          .rule = "a run does not wait for its data forever",
          .remedy = "see whether the file system answers, and continue from the last checkpoint"});
  }

  // Drops what was read and goes to a position.
  void restart(int64_t consumed) {
    for (BlockPtr& block : queue) {
      block->dropped = true;
      if (block->ready) spare.push_back(std::move(block));
    }
    queue.clear();
    next_block = batch_end = position = consumed;
    current = {};
    taken = 0;
  }
};

BatchFeed::BatchFeed(std::shared_ptr<const Batches> batches, const RankShare& share,
                     std::function<int64_t(int64_t)> global_batch, const FeedOptions& options)
    : state_(std::make_shared<State>(std::move(batches), share, std::move(global_batch), options)) {
  TRIREME_ASSERT(share.micro_batch > 0 && share.rank >= 0 && share.rank < share.ranks,
                 "a rank has its share");
}

BatchFeed::~BatchFeed() {
  bool ended = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    const auto patience = state_->gave_up ? std::chrono::milliseconds(0) : state_->options.patience;
    ended = state_->changed.wait_for(lock, patience, [&] { return state_->running == 0; });
  }
  // A thread that hangs in the kernel cannot be joined; it shares the state until it ends.
  for (std::thread& thread : threads_) ended ? thread.join() : thread.detach();
}

void BatchFeed::seek(int64_t consumed) {
  const std::lock_guard lock(state_->mutex);
  if (consumed == state_->position && state_->taken == state_->current.microbatches) return;
  state_->restart(consumed);
  state_->changed.notify_all();
}

GlobalBatch BatchFeed::begin() {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  TRIREME_ASSERT(state.taken == state.current.microbatches, "a global batch is taken whole");
  const int64_t samples = state.batch_at(state.position);
  TRIREME_ASSERT(samples > 0, "the run goes on");
  state.batches->require(state.position, samples);
  state.make_room();
  if (threads_.empty() && state.options.threads > 0) {
    lock.unlock();
    state.start_threads(state_, threads_);
    lock.lock();
  }
  GlobalBatch batch = {.first = state.position,
                       .samples = samples,
                       .microbatches = samples / state.share.block(),
                       .counted_tokens = samples * state.batches->sequence_length()};
  if (state.counts_masks()) {
    batch.counted_tokens = 0;
    for (int64_t m = 0; m < batch.microbatches; ++m) {
      const Block& block = state.wait_for(static_cast<size_t>(m), lock);
      if (block.failure) std::rethrow_exception(block.failure);
      batch.counted_tokens += block.counted_tokens;
    }
  }
  state.current = batch;
  state.taken = 0;
  state.position += samples;
  state.make_room();
  state.changed.notify_all();
  return batch;
}

const BatchFields& BatchFeed::microbatch(int64_t m) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  TRIREME_ASSERT(m == state.taken && m < state.current.microbatches,
                 "microbatches are taken in ascending order");
  if (in_use_ != nullptr) state.spare.push_back(std::exchange(in_use_, nullptr));
  state.wait_for(0, lock);
  in_use_ = std::move(state.queue.front());
  state.queue.erase(state.queue.begin());
  ++state.taken;
  state.changed.notify_all();
  if (in_use_->failure) std::rethrow_exception(in_use_->failure);
  return in_use_->fields;
}

}  // namespace trireme::data
