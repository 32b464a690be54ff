#include "comm/wait.h"

#include <algorithm>
#include <thread>

#include "comm/pending.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::comm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Waking a sleeping thread costs some 50 microseconds; so this long it pays to stay awake.
constexpr microseconds kAwake{200};
constexpr int kSpins = 1000;
constexpr microseconds kFirstRest{100};
// News ends a rest; this bounds what it costs when a transport has none to tell.
constexpr milliseconds kLongestRest{5};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

void WaitLoop::set_action(std::string_view action) {
  action_ = {};
  std::copy_n(action.begin(), std::min(action.size(), action_.size() - 1), action_.begin());
  pending::set_action(action);
}

void WaitLoop::until(FunctionRef<bool()> test,
                     FunctionRef<void(std::chrono::nanoseconds most)> rest,
                     FunctionRef<std::string()> awaited) const {
  if (test()) return;
  if (!patience_.crowded) {
    for (int spin = 0; spin < kSpins; ++spin) {
      relax();
      if (test()) return;
    }
  }
  const Clock::time_point start = Clock::now();
  std::chrono::nanoseconds nap = kFirstRest;
  pending::Wait note(start);
  for (;;) {
    const std::chrono::nanoseconds waited = Clock::now() - start;
    if (waited >= patience_.limit) {
      const double seconds = std::chrono::duration<double>(waited).count();
      throw Silence(
          {.where = action_[0] == 0 ? "waiting" : format("waiting in {}", action()),
           .what = format("after {}, still not here: {}", duration_text(seconds), awaited()),
           .rule = format(
               "a rank waits for another one at most {:.6g} s (--distributed-timeout-seconds or "
               "-minutes)",
               std::chrono::duration<double>(patience_.limit).count()),
           .remedy =
               "look at what that rank does and whether its host can be reached, or allow more "
               "time where a step takes long"});
    }
    if (waited < kAwake) {
      std::this_thread::yield();
    } else {
      if (note.asks(waited)) note.describe(awaited(), waited);
      rest(std::min(nap, patience_.limit - waited));
      nap = std::min<std::chrono::nanoseconds>(2 * nap, kLongestRest);
    }
    if (test()) return;
  }
}

}  // namespace trireme::comm
