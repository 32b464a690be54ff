#include "generate/in_order.h"

#include "core/error.h"

namespace trireme::generate {

void InOrder::put(size_t text, std::string_view bytes) {
  TRIREME_ASSERT(!texts_[text].ended, "a text that has ended does not grow");
  if (bytes.empty()) return;
  if (text == current_) {
    write_(bytes);
  } else {
    texts_[text].waiting += bytes;
  }
}

void InOrder::end(size_t text) {
  texts_[text].ended = true;
  if (text != current_) return;
  while (current_ < texts_.size() && texts_[current_].ended) {
    if (++current_ == texts_.size()) return;
    std::string waiting;
    std::swap(waiting, texts_[current_].waiting);
    if (!waiting.empty()) write_(waiting);
  }
}

}  // namespace trireme::generate
