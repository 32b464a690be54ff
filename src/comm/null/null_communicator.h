#pragma once
#include <map>
#include <memory>

#include "comm/communicator.h"
#include "device/null/null_device.h"

namespace trireme::comm {

/// A group over memory of a null device: a CPU's communicator, run by a stream of its own as NCCL
/// runs its collectives. From its start to its wait the buffer is the communicator's in earnest: it
/// holds NaN (that of a send is only read), so that an op which reads it too early shows, and what
/// is written to it meanwhile is lost.
class NullCommunicator final : public Communicator {
 public:
  /// among: the same group over host memory.
  NullCommunicator(device::NullDevice& device, std::unique_ptr<Communicator> among);

  [[nodiscard]] int rank() const override { return among_->rank(); }
  [[nodiscard]] int size() const override { return among_->size(); }
  [[nodiscard]] Request start(device::Stream& stream, const Exchange& exchange) override;
  void reserve(const MostUnderWay& most) override { among_->reserve(most); }
  void progress() override { among_->progress(); }
  void wait(Request request, device::Stream& stream) override;
  void withdraw() noexcept override { among_->withdraw(); }
  [[nodiscard]] BytesSent bytes_sent() const override { return among_->bytes_sent(); }

 private:
  device::NullDevice& device_;
  std::unique_ptr<Communicator> among_;
  device::NullStream stream_;
  uint64_t started_ = 0;
  std::map<uint64_t, device::NullMark> under_way_;
};

}  // namespace trireme::comm
