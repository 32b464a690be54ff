#include "comm/null/null_communicator.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.h"

namespace trireme::comm {

NullCommunicator::NullCommunicator(device::NullDevice& device, std::unique_ptr<Communicator> among)
    : device_(device), among_(std::move(among)), stream_(device) {}

Request NullCommunicator::start_all_reduce(device::Stream& stream, float* buffer, int64_t elements,
                                           program::Reduction reduction) {
  auto& behind = static_cast<device::NullStream&>(stream);
  const auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(elements));
  const auto memory = [=, this] {
    return reinterpret_cast<float*>(
        device_.host_address(buffer, elements * 4, "buffer of an all-reduce"));
  };
  behind.queue([=] {
    std::copy_n(memory(), elements, values->begin());
    std::fill_n(memory(), elements, std::numeric_limits<float>::quiet_NaN());
  });
  stream_.wait(behind.mark());
  stream_.queue([=, this] {
    device::CpuStream& cpu = device_.cpu_stream();
    among_->wait(among_->start_all_reduce(cpu, values->data(), elements, reduction), cpu);
    std::copy(values->begin(), values->end(), memory());
  });
  started_ += 1;
  under_way_[started_] = stream_.mark();
  return {started_};
}

void NullCommunicator::wait(Request request, device::Stream& stream) {
  const auto found = under_way_.find(request.number);
  TRIREME_ASSERT(found != under_way_.end(), "each request is waited for once");
  static_cast<device::NullStream&>(stream).wait(found->second);
  under_way_.erase(found);
}

}  // namespace trireme::comm
