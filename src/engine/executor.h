#pragma once
#include <array>
#include <span>

#include "comm/communicator.h"
#include "engine/lower.h"
#include "engine/observer.h"

namespace trireme::engine {

/// Which of an action's ops run: all in order, or one half of a backward.
enum class Part { all, input_gradient, weight_gradient };

/// Slots of a microbatch, in those arenas that have several.
struct Slots {
  int activations = 0;  ///< the chunk's
  int batch = 0;        ///< the rank's: batch fields are shared by its chunks

  [[nodiscard]] int in(model::ArenaKind arena) const {
    return arena == model::ArenaKind::batch ? batch : activations;
  }
};

/// Runs lowered ops on a stream: kernels on the device, collectives on the communicator of their
/// axis. Allocates nothing.
class Executor {
 public:
  Executor(ops::Backend backend, const RankMemory& memory, comm::Communicator& tensor_group);
  /// Withdraws from collectives under way and waits for the stream, so that no work outlives what
  /// it reaches; its failure is no longer told.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// slots: of the microbatch. accumulate: what gradient operands do.
  void run(const std::vector<LoweredOp>& ops, Slots slots, bool accumulate, Part part = Part::all);
  void synchronize() { backend_.device->synchronize(*stream_); }

  [[nodiscard]] device::Stream& stream() { return *stream_; }
  /// Who sees every op. Not owned.
  [[nodiscard]] std::vector<Observer*>& observers() { return observers_; }

 private:
  static constexpr size_t kMostOperands = 12;
  using Operands = std::array<void*, kMostOperands>;

  void run_one(const LoweredOp& op, std::span<void* const> operands, bool accumulate);
  void run_collective(const LoweredOp& op, std::byte* buffer);

  ops::Backend backend_;
  const RankMemory& memory_;
  comm::Communicator& tensor_group_;
  std::unique_ptr<device::Stream> stream_;
  std::vector<Observer*> observers_;
  // Collectives under way: one per buffer, few at a time.
  static constexpr size_t kUnderWay = 8;
  std::array<std::pair<const std::byte*, comm::Request>, kUnderWay> under_way_ = {};
};

}  // namespace trireme::engine
