#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "data/batches.h"

namespace trireme::data {

/// What one data-parallel rank takes of the data: of each block of b d consecutive samples, the
/// sequences [rank b, rank b + b). So microbatch m of a global batch that begins at sample c has
/// the samples c + m b d + rank b and following, and the global batch is the same for all b and d.
struct RankShare {
  int64_t micro_batch = 1;  ///< b
  int64_t ranks = 1;        ///< d
  int64_t rank = 0;

  [[nodiscard]] int64_t block() const { return micro_batch * ranks; }
};

/// One global batch on its way to a rank.
struct GlobalBatch {
  int64_t first = 0;           ///< consumed samples in front of it
  int64_t samples = 0;         ///< B
  int64_t microbatches = 0;    ///< m, of this rank
  int64_t counted_tokens = 0;  ///< N of the whole global batch, over all ranks
};

struct FeedOptions {
  /// Threads that read ahead while the step runs; 0: each microbatch is read when it is asked for.
  int threads = 0;
  /// How long the feed waits for a microbatch before it gives up.
  std::chrono::milliseconds patience = std::chrono::minutes(10);
};

/// Reads a rank's microbatches in the order in which a run takes them, ahead of it where there are
/// threads. What it delivers follows from positions alone, whatever the number of threads.
///
///   feed.seek(position.consumed_samples);
///   const GlobalBatch batch = feed.begin();
///   for (m ...) use(feed.microbatch(m));
///
/// Where the loss mask depends on the data, begin() waits for the whole global batch, since every
/// rank needs N before its first backward; nothing is read twice (of other ranks' samples, only the
/// mask is counted). Otherwise it waits for nothing.
///
/// Memory: the fields of 2 microbatches per thread and one in use, and of one global batch where N
/// has to be read. Allocated by begin(), so that nothing is while a step runs.
class BatchFeed {
 public:
  /// batches       shared: a thread that hangs in a read keeps it alive
  /// global_batch  B of the global batch at a number of consumed samples, a multiple of b d; 0: the
  ///               run ends there. Called by one thread at a time, whichever; the same for one
  ///               position always.
  BatchFeed(std::shared_ptr<const Batches> batches, const RankShare& share,
            std::function<int64_t(int64_t)> global_batch, const FeedOptions& options = {});
  /// Ends its threads. One that hangs in a read past the patience is left behind.
  ~BatchFeed();
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;

  /// The next begin() is of the global batch at `consumed`. Free where it would be anyway;
  /// elsewhere, what was read ahead is dropped.
  void seek(int64_t consumed);

  /// Goes to the next global batch, behind all microbatches of the one before. Throws when the
  /// order has not so many samples, and, where N needs the data, what went wrong in reading it.
  GlobalBatch begin();

  /// Fields of microbatch m of the global batch begun; m ascends from 0. Valid until the next call.
  /// Throws what went wrong in reading it; the feed is at an end then.
  const BatchFields& microbatch(int64_t m);

 private:
  struct Block;
  struct State;
  std::shared_ptr<State> state_;
  std::shared_ptr<Block> in_use_;  // what the last microbatch() has given
  std::vector<std::thread> threads_;
};

}  // namespace trireme::data
