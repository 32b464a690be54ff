#include "comm/mpi/run.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <thread>

#include "comm/lanes.h"
#include "comm/mpi/call_limit.h"
#include "comm/mpi/library.h"
#include "comm/pending.h"
#include "core/error.h"
#include "core/failure.h"
#include "core/format.h"

namespace trireme::comm::mpi {
namespace {

using std::chrono::milliseconds;

// Ranks that fail alike (all read the same options) do so within this time; the first one that
// speaks ends the others before they do.
constexpr milliseconds kFirstSpeaks{250};
constexpr milliseconds kNextSpeaks{250};
constexpr milliseconds kLastSpeaks{2'000};
// Who follows a failure is ended from outside; by itself, should nobody do it.
constexpr std::chrono::seconds kFollows{4};

std::string seconds_text(std::chrono::nanoseconds limit) {
  return format("{:.6g} s", std::chrono::duration<double>(limit).count());
}

constexpr const char* kRuleOfWaits =
    "a rank waits for another one at most that long (--distributed-timeout-seconds or -minutes)";

Trouble silence_at_the_begin(const Launch& launch, std::chrono::nanoseconds limit) {
  return {
      .where = format("rank {}, waiting in the begin of MPI", launch.rank),
      .what = format("after {}, not all of the {} processes of {} ({}) are here",
                     seconds_text(limit), launch.size, name_of(launch.launcher), launch.because),
      .rule = kRuleOfWaits,
      .remedy =
          "look for processes that ended early or have other options, and whether their "
          "hosts can be reached; or allow more time where one takes long to read its "
          "data"};
}

Trouble silence_at_the_end(std::chrono::nanoseconds limit) {
  return {.where = "waiting in the end of MPI",
          .what = format("after {}, not all ranks have ended it", seconds_text(limit)),
          .rule = kRuleOfWaits,
          .remedy =
              "what was asked for is done; look for ranks that stand still, and whether "
              "their hosts can be reached"};
}

// When a rank speaks, so that those before it have spoken.
std::chrono::nanoseconds turn_of(int rank) {
  if (rank == 0) return {};
  return std::min(kFirstSpeaks + (rank - 1) * kNextSpeaks, kLastSpeaks);
}

// Inside a handler, before MPI is begun.
[[noreturn]] void end_this(const Launch& launch) {
  let_first_speak(launch);
  std::exit(tell_failure(std::current_exception()));
}

// Inside a handler: what it says holds for all processes of this job, which all see it.
[[noreturn]] void end_alike(const Launch& launch, const Error& error) {
  let_first_speak(launch);
  if (launch.rank > 0) std::exit(error.exit_status());
  std::exit(tell_failure(std::current_exception()));
}

// Inside a handler.
[[noreturn]] void end_all(Wire& wire) {
  std::fflush(stdout);
  if (wire.stopped_by() >= 0 && wire.stopped_by() != wire.rank()) {
    std::this_thread::sleep_for(kFollows);
    wire.abort(1);
  }
  std::this_thread::sleep_for(turn_of(wire.rank()));
  wire.abort(tell_failure(std::current_exception()));
}

// Waits until all ranks are here, so that none is inside MPI's own end, out of reach, while another
// one fails: some launchers do not survive that.
void leave(Wire& wire, const WaitLoop& loop, std::chrono::nanoseconds limit) {
  if (wire.stopped_by() >= 0) {
    fail({.where = "the end",
          .what = "it ended while others could still read what it had lent",
          .rule = "each exchange is waited for",
          .remedy = "report this, with the program's options"});
  }
  const std::vector<bool>& leaving = wire.leaving();
  wire.note_leave(wire.rank());
  if (wire.rank() > 0) wire.send_frame(0, {.kind = FrameKind::leave});
  const auto refuse = [&](const Header& header) {
    fail({.where = format("from rank {} to rank {}", header.from, wire.rank()),
          .what = format("{}, after the end", text_of(header)),
          .rule = "what is sent is received",
          .remedy = "report this, with the program's options"});
  };
  if (wire.unasked()) refuse(*wire.unasked());
  const auto listen = [&] {
    wire.poll();
    int peer = 0;
    for (; const Frame* frame = wire.front(peer); wire.pop()) {
      if (frame->kind == FrameKind::end) {
        wire.stop(peer);
        fail({.where = "the end",
              .what = format("rank {} has failed", peer),
              .rule = "a rank that fails ends all",
              .remedy = "see its message"});
      }
      if (frame->kind == FrameKind::message) refuse(frame->header);
      if (frame->kind == FrameKind::leave) wire.note_leave(peer);
    }
    return wire.rank() == 0 ? std::count(leaving.begin(), leaving.end(), false) == 0
                            : static_cast<bool>(leaving[0]);
  };
  const auto nap = [](std::chrono::nanoseconds most) {
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(most, milliseconds(1)));
  };
  loop.until(listen, nap, [&] {
    if (wire.rank() > 0) return std::string("the end of all ranks");
    return format("the end of rank {}",
                  std::find(leaving.begin(), leaving.end(), false) - leaving.begin());
  });
  for (int peer = 1; wire.rank() == 0 && peer < wire.size(); ++peer)
    wire.send_frame(peer, {.kind = FrameKind::leave});
  const auto is_sent = [&] {
    wire.poll();
    return wire.all_sent();
  };
  loop.until(is_sent, nap, [] { return std::string("the way of the last messages"); });
  const CallLimit within(silence_at_the_end(limit), limit);
  wire.close();
}

void on_termination(int signal) {
  pending::write(STDERR_FILENO, "SIGTERM");
  static_cast<void>(std::signal(signal, SIG_DFL));
  static_cast<void>(std::raise(signal));
}

// As long as it lives, SIGTERM ends the process behind a word on what it waits for; who catches the
// signal in the meantime says it too (train/exit.h). And a connection that another rank closed, as
// it died, is MPI's trouble but not the end of this process.
class Signals {
 public:
  Signals() {
    take(SIGTERM, on_termination, termination_);
    take(SIGPIPE, SIG_IGN, closed_);
  }
  ~Signals() {
    static_cast<void>(::sigaction(SIGPIPE, &closed_, nullptr));
    static_cast<void>(::sigaction(SIGTERM, &termination_, nullptr));
    pending::disable();
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  static void take(int signal, void (*handler)(int), struct sigaction& before) {
    struct sigaction action = {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    if (::sigaction(signal, &action, &before) != 0)
      fail({.where = "signals",
            .what = "cannot be caught: " + errno_text(errno),
            .rule = "a rank that is ended says what it waits for",
            .remedy = "see whether something keeps this process from sigaction()"});
  }

  struct sigaction termination_ = {};
  struct sigaction closed_ = {};
};

}  // namespace

void run_mpi(const MpiRun& run, const std::function<void(Port& port)>& body) {
  const Signals signals;
  pending::enable(format("rank {}", run.launch.rank));
  pending::set_action("the begin of MPI");
  std::optional<Wire> begun;
  try {
    require_meeting(run.launch);
  } catch (const Error& error) {
    end_alike(run.launch, error);
  }
  try {
    const CallLimit limit(silence_at_the_begin(run.launch, run.patience.limit), run.patience.limit);
    begun.emplace(run.table != nullptr ? *run.table : open_library());
  } catch (...) {
    end_this(run.launch);
  }
  Wire& wire = *begun;
  try {
    require_one_job(run.launch, wire.size(), wire.library());
  } catch (const Error& error) {
    end_alike(run.launch, error);
  }
  set_place(format("rank {}", wire.rank()));
  try {
    std::vector<std::string> places;
    if (run.places) places = run.places(wire.size());
    if (!places.empty())
      set_place(format("rank {} = {}", wire.rank(), places[static_cast<size_t>(wire.rank())]));
    pending::enable(place());
    {
      std::unique_ptr<Transport> transport =
          std::make_unique<MpiTransport>(wire, std::move(places), run.limits);
      if (run.between) transport = run.between(std::move(transport));
      Port port(std::move(transport), run.patience);
      port.set_action("the start");
      body(port);
    }
    WaitLoop loop(run.patience);
    loop.set_action("the end");
    leave(wire, loop, run.patience.limit);
  } catch (...) {
    end_all(wire);
  }
}

}  // namespace trireme::comm::mpi
