#pragma once
#include <array>
#include <span>

#include "engine/exchanges.h"
#include "engine/lower.h"
#include "engine/observer.h"

namespace trireme::engine {

/// Which of an action's ops run: all in order, or one half of a backward.
enum class Part { all, input_gradient, weight_gradient };

/// Slots of a microbatch, in those arenas that have several.
struct Slots {
  int activations = 0;  ///< the chunk's
  int batch = 0;        ///< the rank's: batch fields are shared by its chunks
  int received_activation = 0;
  int sent_activation = 0;
  int received_gradient = 0;
  int sent_gradient = 0;

  [[nodiscard]] int in(model::ArenaKind arena) const {
    switch (arena) {
      case model::ArenaKind::batch:
        return batch;
      case model::ArenaKind::received_activations:
        return received_activation;
      case model::ArenaKind::sent_activations:
        return sent_activation;
      case model::ArenaKind::received_gradients:
        return received_gradient;
      case model::ArenaKind::sent_gradients:
        return sent_gradient;
      default:
        return activations;
    }
  }
};

/// What a backward does with the gradients of its chunk.
struct Role {
  bool accumulate = false;  ///< adds to them; otherwise it overwrites
  bool last = false;        ///< completes them: starts the buckets as it goes
};

/// Runs lowered ops on a stream: kernels on the device, collectives on the communicator of their
/// axis. Allocates nothing.
class Executor {
 public:
  /// buckets: of the plan; they outlive the executor.
  Executor(ops::Backend backend, const RankMemory& memory, const Groups& groups,
           std::span<const model::Bucket> buckets = {});
  /// Withdraws from all that is under way in the groups, whoever started it, and waits
  /// for the stream, so that no work outlives what it reaches; its failure is no longer told.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// slots: of the microbatch.
  void run(const std::vector<LoweredOp>& ops, const Slots& slots, Role role = {},
           Part part = Part::all);
  void synchronize() { backend_.device->synchronize(*stream_); }

  [[nodiscard]] device::Stream& stream() { return *stream_; }
  /// All exchanges on the stream.
  [[nodiscard]] Exchanges& exchanges() { return exchanges_; }
  [[nodiscard]] const Exchanges& exchanges() const { return exchanges_; }
  /// Who sees every op and exchange. Not owned.
  [[nodiscard]] std::vector<Observer*>& observers() { return observers_; }

 private:
  static constexpr size_t kMostOperands = 12;
  using Operands = std::array<void*, kMostOperands>;

  void run_one(const LoweredOp& op, std::span<void* const> operands, bool accumulate);
  void run_collective(const LoweredOp& op, std::byte* buffer);
  void start_bucket(const model::Bucket& bucket);
  void start(RankGroup group, const comm::Exchange& exchange);

  ops::Backend backend_;
  const RankMemory& memory_;
  std::span<const model::Bucket> buckets_;
  std::unique_ptr<device::Stream> stream_;
  std::vector<Observer*> observers_;
  Exchanges exchanges_;
  // Collectives, one per buffer: buckets, and few others at a time.
  static constexpr size_t kOthersUnderWay = 8;
  std::vector<UnderWay> under_way_;
};

}  // namespace trireme::engine
