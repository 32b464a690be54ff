#include "device/null/null_stream.h"

#include <utility>

namespace trireme::device {

void NullMark::reach() const {
  if (queue == nullptr) return;
  while (queue->done < count) {
    const std::function<void()> work = std::move(queue->work.front());
    queue->work.pop_front();
    queue->done += 1;
    try {
      work();
    } catch (...) {
      queue->work.clear();
      queue->done = queue->queued;
      throw;
    }
  }
}

void NullStream::wait(const NullMark& mark) {
  queue([mark] { mark.reach(); });
}

}  // namespace trireme::device
