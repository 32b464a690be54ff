#pragma once
#include <string>
#include <vector>

#include "engine/session.h"

namespace trireme::train {

/// Watches a session's ops for the first one that wrote a number that is not finite, and keeps
/// where that was. Reads back everything that is written: for a batch that is run again because it
/// went wrong.
class NonFiniteFinder final : public engine::Observer {
 public:
  /// Observes the session as long as it lives.
  explicit NonFiniteFinder(engine::Session& session);
  ~NonFiniteFinder() override;

  void begin(const schedule::Action& action) override;
  void op(const engine::OpRecord& record) override;

  [[nodiscard]] bool found() const { return !text_.empty(); }
  /// As in "nan in activated, y of bias_gelu, layer 7, microbatch 3 (0F3), element 4711 of 98304".
  [[nodiscard]] const std::string& text() const { return text_; }
  /// The action in which it was.
  [[nodiscard]] const schedule::Action& action() const { return action_; }
  /// Of what several ranks found that is the cause whose text sorts first: such numbers go from
  /// forward to backward, along the stages, and to ranks that add up. Digits alone.
  [[nodiscard]] std::string place_in_flow() const;

 private:
  engine::Session& session_;
  schedule::Action action_;
  int ops_ = 0;  // of the action so far
  std::vector<std::byte> bytes_;
  std::string text_;
};

}  // namespace trireme::train
