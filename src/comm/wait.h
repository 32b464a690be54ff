#pragma once
#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/thread_pool.h"

namespace trireme::comm {

/// How a rank waits for others.
struct Patience {
  std::chrono::nanoseconds limit = std::chrono::minutes(10);
  /// More busy threads than cores: who waits gives its core away at once.
  bool crowded = true;
};

/// A wait's limit has passed.
class Silence final : public Error {
 public:
  explicit Silence(const Trouble& trouble) : Error(Kind::run, trouble) {}
};

/// The one place where a rank waits for another: test, progress, back off, deadline. First it looks
/// again and again, then it lets other threads have the core, then it sleeps, longer each time,
/// until something for it happens. Used by the rank's own thread.
class WaitLoop {
 public:
  explicit WaitLoop(Patience patience) : patience_(patience) {}

  /// Names what the rank does, as in "1F3", for the messages of waits; at most 31 characters.
  void set_action(std::string_view action);
  [[nodiscard]] std::string_view action() const { return action_.data(); }

  /// Returns when test() does true; test moves on what is under way. rest(most) sleeps until there
  /// is news, or so long. Throws Silence when the limit has passed since the call: awaited() says
  /// what did not come, from whom, where.
  void until(FunctionRef<bool()> test, FunctionRef<void(std::chrono::nanoseconds most)> rest,
             FunctionRef<std::string()> awaited) const;

 private:
  Patience patience_;
  std::array<char, 32> action_ = {};
};

}  // namespace trireme::comm
