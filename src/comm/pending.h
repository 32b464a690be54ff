#pragma once
#include <chrono>
#include <string_view>

// What the rank of this process waits for, where a handler of a signal can read it: after the death
// of one rank the launcher ends all others, and each says where it stood. For processes of one rank
// (comm/mpi/run.h); elsewhere nothing is noted. Written by the rank's thread.

namespace trireme::comm::pending {

/// Notes from here on, for this rank, as in "rank 5 = p1 t0 d1".
void enable(std::string_view rank);
void disable();

/// What the rank does, as in "1F3".
void set_action(std::string_view action);

/// A wait is under way, from its beginning to its end. Does nothing where nothing is noted.
class Wait {
 public:
  explicit Wait(std::chrono::steady_clock::time_point start);
  ~Wait();
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  /// Whether to say what is awaited: at first, and now and then.
  [[nodiscard]] bool asks(std::chrono::nanoseconds waited) const;
  /// What is awaited, and from whom.
  void describe(std::string_view awaited, std::chrono::nanoseconds waited);

 private:
  std::chrono::nanoseconds described_{-1};
};

/// A line to the descriptor with the signal's name, the rank, its action, how long it waits, what
/// for. For handlers of signals.
void write(int descriptor, const char* signal) noexcept;

}  // namespace trireme::comm::pending
