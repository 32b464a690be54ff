#include "train/exit.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

#include "comm/pending.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::train {
namespace {

constexpr std::array<int, 4> kSignals = {SIGUSR1, SIGTERM, SIGINT, SIGHUP};

std::atomic<int> caught_signal = 0;
std::atomic<int> terminations = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may write it");
std::mutex living_mutex;
int living = 0;  // StopSignals; guarded by the mutex, as what follows
std::array<struct sigaction, kSignals.size()> before = {};
void (*before_pipe)(int) = SIG_DFL;

void on_signal(int signal) {
  // How a launcher ends a job: each rank says where it stood.
  if (signal == SIGTERM) comm::pending::write(STDERR_FILENO, "SIGTERM");
  caught_signal = signal;
  if (signal == SIGUSR1 || ++terminations < 2) return;
  // The second time: whoever sends it does not want to wait.
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

StopSignals::StopSignals() {
  const std::lock_guard lock(living_mutex);
  if (living++ > 0) return;
  caught_signal = 0;
  terminations = 0;
  before_pipe = std::signal(SIGPIPE, SIG_IGN);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // a read or write under way goes on
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (::sigaction(kSignals[i], &action, &before[i]) != 0)
      fail({.where = "signals",
            .what = "cannot be caught: " + errno_text(errno),
            .rule = "a run that is told to end saves first",
            .remedy = "see whether something keeps this process from sigaction()"});
    // What was ignored from the start stays so: nohup, a job in the background.
    if (before[i].sa_handler == SIG_IGN) ::sigaction(kSignals[i], &before[i], nullptr);
  }
}

StopSignals::~StopSignals() {
  const std::lock_guard lock(living_mutex);
  if (--living > 0) return;
  std::signal(SIGPIPE, before_pipe);
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
}

namespace {

std::string signal_name(int signal) {
  switch (signal) {
    case SIGUSR1:
      return "SIGUSR1";
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "SIGTERM";
  }
}

constexpr double kMinutesOver = 0.5;  // below every signal

}  // namespace

std::optional<std::string> StopSignals::caught() {
  const int signal = caught_signal.load();
  if (signal == 0) return std::nullopt;
  return signal_name(signal);
}

double ExitRule::vote() const {
  if (const int signal = caught_signal.load(); signal != 0) return signal;
  const std::chrono::duration<double, std::ratio<60>> passed =
      std::chrono::steady_clock::now() - start_;
  return minutes_ && passed.count() >= *minutes_ ? kMinutesOver : 0;
}

std::optional<std::string> ExitRule::reason(int64_t iteration, double vote) const {
  if (vote > kMinutesOver) return signal_name(static_cast<int>(vote));
  if (interval_ && iteration % *interval_ == 0) return format("--exit-interval {}", *interval_);
  if (vote > 0) return format("--exit-duration-in-mins {}", minutes_.value_or(0));
  return std::nullopt;
}

}  // namespace trireme::train
