#include "comm/mpi/run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <thread>

#include "comm/mpi/library.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::comm::mpi {
namespace {

using std::chrono::milliseconds;

// Ranks that fail alike (all read the same options) do so within this time; the first one that
// speaks ends the others before they do.
constexpr milliseconds kFirstSpeaks{250};
constexpr milliseconds kNextSpeaks{25};
constexpr milliseconds kLastSpeaks{2'000};
// Who follows a failure is ended from outside; by itself, should nobody do it.
constexpr std::chrono::seconds kFollows{10};

void speak(const char* words) {
  std::fprintf(stderr, "trireme: %s\n", words);
  std::fflush(stderr);
}

// Of the exception under way.
int status_of() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return error.exit_status();
  } catch (...) {
    return 1;
  }
}

// Tells the exception under way, and returns its exit status.
int tell() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    speak(error.what());
  } catch (const std::bad_alloc&) {
    speak("out of memory: an allocation was refused");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "trireme: [%s] %s\n", place().c_str(), error.what());
  } catch (...) {
    speak("an unknown failure");
  }
  return status_of();
}

// When a rank speaks, so that those before it have spoken.
std::chrono::nanoseconds turn_of(int rank) {
  if (rank == 0) return {};
  return std::min(kFirstSpeaks + (rank - 1) * kNextSpeaks, kLastSpeaks);
}

// Inside a handler: MPI is not begun.
[[noreturn]] void end_this(const Launch& launch) {
  // No rank knows of the others, who all meet the same.
  if (launch.rank > 0) std::this_thread::sleep_for(kLastSpeaks);
  const int status = launch.rank > 0 ? status_of() : tell();
  std::exit(status);
}

// Inside a handler.
[[noreturn]] void end_all(const Launch& launch, Wire& wire) {
  std::fflush(stdout);
  if (wire.stopped_by() >= 0 && wire.stopped_by() != wire.rank()) {
    std::this_thread::sleep_for(kFollows);
    wire.abort(1);
  }
  std::this_thread::sleep_for(turn_of(std::max(launch.rank, wire.rank())));
  // Of programs of one rank each, which a wrong launcher starts, one speaks for all.
  const bool silent = launch.rank > 0 && wire.size() == 1;
  const int status = silent ? status_of() : tell();
  wire.abort(status);
}

// What a rank lends and never waits for could go while others read it.
void leave(Wire& wire, const WaitLoop& loop) {
  if (wire.stopped_by() >= 0) {
    fail({.what = "it ended while others could still read what it had lent",
          .rule = "each exchange is waited for"});
  }
  loop.until(
      [&] {
        wire.poll();
        return wire.all_sent();
      },
      [](std::chrono::nanoseconds) { std::this_thread::yield(); },
      [] { return std::string("the end of this rank's last messages"); });
  wire.close();
}

}  // namespace

void run_mpi(const MpiRun& run, const std::function<void(Port& port)>& body) {
  std::optional<Wire> begun;
  try {
    begun.emplace(run.table != nullptr ? *run.table : open_library());
  } catch (...) {
    end_this(run.launch);
  }
  Wire& wire = *begun;
  set_place(format("rank {}", wire.rank()));
  try {
    require_one_job(run.launch, wire.size(), wire.library());
    std::vector<std::string> places;
    if (run.places) places = run.places(wire.size());
    if (!places.empty())
      set_place(format("rank {} = {}", wire.rank(), places[static_cast<size_t>(wire.rank())]));
    {
      std::unique_ptr<Transport> transport =
          std::make_unique<MpiTransport>(wire, std::move(places), run.limits);
      if (run.between) transport = run.between(std::move(transport));
      Port port(std::move(transport), run.patience);
      body(port);
    }
    leave(wire, WaitLoop(run.patience));
  } catch (...) {
    end_all(run.launch, wire);
  }
}

}  // namespace trireme::comm::mpi
