#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::generate {

/// Texts that grow side by side, written one behind the other: the first that has not ended is
/// written as it grows, the others wait in memory.
class InOrder {
 public:
  using Write = std::function<void(std::string_view bytes)>;
  InOrder(size_t texts, Write write) : texts_(texts), write_(std::move(write)) {}

  /// Appends to a text that has not ended.
  void put(size_t text, std::string_view bytes);
  void end(size_t text);

 private:
  struct Text {
    std::string waiting;
    bool ended = false;
  };
  std::vector<Text> texts_;
  Write write_;
  size_t current_ = 0;  // the first that has not ended
};

}  // namespace trireme::generate
