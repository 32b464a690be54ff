#pragma once
#include <chrono>
#include <functional>

#include "comm/communicator.h"
#include "engine/lower.h"

namespace trireme::engine {

/// Sees every op that an executor ran: for profiles and traces. Times are the host's; on an
/// asynchronous device they tell when the op was queued.
using OpObserver = std::function<void(const LoweredOp& op, std::chrono::nanoseconds duration)>;

/// Which of an action's ops run: all in order, or one half of a backward.
enum class Part { all, input_gradient, weight_gradient };

/// Runs lowered ops on a stream: kernels on the device, collectives on the communicator of their
/// axis. Allocates nothing.
class Executor {
 public:
  Executor(ops::Backend backend, const RankMemory& memory, comm::Communicator& tensor_group);

  /// slot: of the chunk's activations and batch fields. accumulate: what gradient operands do.
  void run(const std::vector<LoweredOp>& ops, int slot, bool accumulate, Part part = Part::all);
  void synchronize() { backend_.device->synchronize(*stream_); }

  [[nodiscard]] device::Stream& stream() { return *stream_; }
  void observe(OpObserver observer) { observer_ = std::move(observer); }

 private:
  void run_one(const LoweredOp& op, int slot, bool accumulate);
  void run_collective(const LoweredOp& op, int slot);

  ops::Backend backend_;
  const RankMemory& memory_;
  comm::Communicator& tensor_group_;
  std::unique_ptr<device::Stream> stream_;
  OpObserver observer_;
  // Collectives under way: one per buffer, few at a time.
  static constexpr size_t kUnderWay = 8;
  std::array<std::pair<const std::byte*, comm::Request>, kUnderWay> under_way_ = {};
};

}  // namespace trireme::engine
