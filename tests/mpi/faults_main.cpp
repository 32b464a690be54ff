// mpi_faults WHAT [RANK [MESSAGE]] [--seconds LIMIT]: ranks under mpirun exchange until something
// goes wrong with one of them. What: end (nothing does), endless (never), throw, late, usage, exit,
// kill, freeze, wait (the rank never comes); or what becomes of a message: delay, drop, twice,
// stray.
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "comm/mpi/run.h"
#include "comm/record/faulty_transport.h"
#include "comm/testing/ranks.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::comm {
namespace {

struct Trial {
  std::string what = "end";
  int rank = 0;
  uint64_t message = 0;
  int seconds = 60;
  int places = 0;  // of so many ranks the world consists; 0: any
};

void step(testing::Member& member, int number) {
  Communicator& world = member.port.world();
  member.port.set_action(format("step {}", number));
  std::vector<float> buffer = testing::values_of(world.rank(), 1, 300'000);
  member.wait(world, world.start_all_reduce(*member.stream, buffer.data(), 300'000,
                                            program::Reduction::sum, Traffic::gradient));
}

void go_wrong(const Trial& trial) {
  if (trial.what == "throw") fail({.where = "disk", .what = "it is full", .remedy = "make room"});
  if (trial.what == "exit") std::_Exit(3);
  if (trial.what == "kill") std::raise(SIGKILL);
  if (trial.what == "freeze") std::raise(SIGSTOP);
  if (trial.what == "wait") std::this_thread::sleep_for(std::chrono::minutes(5));
}

void body(const Trial& trial, Port& port) {
  testing::Member member(port);
  if (trial.what == "usage")
    fail_usage({.where = "--seed", .what = "it is odd", .remedy = "use 2"});
  const int steps = trial.what == "endless" ? 1'000'000'000 : 20;
  for (int number = 0; number < steps; ++number) {
    if (number == 5 && port.rank() == 0) say("under way");
    if (number == 10 && port.rank() == trial.rank) {
      if (trial.what == "leave") return;
      go_wrong(trial);
    }
    step(member, number);
  }
  member.port.set_action("the end");
  member.port.finish(*member.stream);
  if (trial.what == "late" && port.rank() == trial.rank) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the others are in MPI_Finalize
    fail({.where = "disk", .what = "it is full", .remedy = "make room"});
  }
  if (port.rank() == 0) say("all steps done");
}

Fault fault_of(const std::string& what) {
  if (what == "delay") return Fault::delay;
  if (what == "drop") return Fault::drop;
  if (what == "twice") return Fault::twice;
  if (what == "stray") return Fault::to_other_lane;
  return Fault::none;
}

Trial trial_of(int argc, char** argv) {
  Trial trial;
  if (argc > 1) trial.what = argv[1];
  if (argc > 2) trial.rank = std::atoi(argv[2]);
  if (argc > 3) trial.message = static_cast<uint64_t>(std::atoi(argv[3]));
  if (argc > 4) trial.seconds = std::atoi(argv[4]);
  if (argc > 5) trial.places = std::atoi(argv[5]);
  return trial;
}

}  // namespace
}  // namespace trireme::comm

int main(int argc, char** argv) {
  using namespace trireme::comm;
  const Trial trial = trial_of(argc, argv);
  SentMessages sent;
  mpi::MpiRun run = {.launch = mpi::launch_here(),
                     .patience = {.limit = std::chrono::seconds(trial.seconds)}};
  run.places = [&](int ranks) {
    if (trial.places != 0 && trial.places != ranks)
      trireme::fail_usage(
          {.where = "topology",
           .what = trireme::format("{} ranks run, but p x t x d = {}", ranks, trial.places)});
    std::vector<std::string> places;
    for (int rank = 0; rank < ranks; ++rank) places.push_back(trireme::format("p0 t0 d{}", rank));
    return places;
  };
  run.between = [&](std::unique_ptr<Transport> inner) -> std::unique_ptr<Transport> {
    const Fault fault = inner->rank() == trial.rank ? fault_of(trial.what) : Fault::none;
    return std::make_unique<FaultyTransport>(std::move(inner), Plant{fault, trial.message}, sent);
  };
  mpi::run_mpi(run, [&](Port& port) { body(trial, port); });
  return trial.what == "status" ? 3 : 0;
}
