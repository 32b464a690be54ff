#include "comm/null/null_communicator.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.h"

namespace trireme::comm {

NullCommunicator::NullCommunicator(device::NullDevice& device, std::unique_ptr<Communicator> among)
    : device_(device), among_(std::move(among)), stream_(device) {}

Request NullCommunicator::start(device::Stream& stream, const Exchange& exchange) {
  // The host's copy of the buffer, and what is known of it once it was started.
  struct Started {
    std::vector<std::byte> values;
    Request request;
  };
  const auto started = std::make_shared<Started>();
  const auto memory = [=, this] {
    return device_.host_address(exchange.buffer, exchange.bytes, "buffer of an exchange");
  };
  auto& behind = static_cast<device::NullStream&>(stream);
  behind.queue([=] {
    started->values.assign(memory(), memory() + exchange.bytes);
    if (exchange.verb == Verb::send) return;
    // All bits set: NaN in every type that has one.
    std::fill_n(memory(), exchange.bytes, std::byte{0xff});
  });
  stream_.wait(behind.mark());
  stream_.queue([=, this] {
    Exchange on_host = exchange;
    on_host.buffer = started->values.data();
    started->request = among_->start(device_.cpu_stream(), on_host);
  });
  // A queue for each end, so that who waits for one exchange does not wait for another.
  const auto end = std::make_shared<device::NullQueue>();
  end->add([mark = stream_.mark()] { mark.reach(); });
  end->add([=, this] {
    among_->wait(started->request, device_.cpu_stream());
    if (exchange.verb != Verb::send)
      std::copy(started->values.begin(), started->values.end(), memory());
  });
  started_ += 1;
  under_way_[started_] = {end, end->queued};
  return {started_};
}

void NullCommunicator::wait(Request request, device::Stream& stream) {
  const auto found = under_way_.find(request.number);
  TRIREME_ASSERT(found != under_way_.end(), "each request is waited for once");
  static_cast<device::NullStream&>(stream).wait(found->second);
  under_way_.erase(found);
}

}  // namespace trireme::comm
