#include "comm/mpi/launch.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "core/environment.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::comm::mpi {
namespace {

// Where a launcher tells what.
struct Names {
  Launcher launcher;
  const char* size;
  const char* rank;
  const char* local_rank;
  const char* local_size;
};

// In the order in which one hides another. Slurm sets the variables of a step in steps alone, so
// that a program in a batch script itself has none; under srun --mpi=pmi2 hydra's are there too.
constexpr Names kLaunchers[] = {
    {Launcher::openmpi, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {Launcher::slurm, "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", nullptr},
    {Launcher::hydra, "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}};

std::optional<int> number_in(Environment environment, const char* name) {
  if (name == nullptr) return std::nullopt;
  const std::optional<std::string> text = environment(name);
  if (!text) return std::nullopt;
  int number = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || rest != end || number < 0) {
    fail_usage({.where = name,
                .what = format("'{}' is no count", *text),
                .rule = "launchers set this variable",
                .remedy = "unset it, where no launcher did"});
  }
  return number;
}

// How many tasks of a step run on a host, from "8(x3),4": of hosts 0 to 2 eight each, of host 3
// four. -1 where the list does not say.
int tasks_on(std::string_view list, int host) {
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
    const auto number_at = [&](size_t at) {
      int number = -1;
      const char* const begin = entry.data() + std::min(at, entry.size());
      std::from_chars(begin, entry.data() + entry.size(), number);
      return number;
    };
    const size_t times = entry.find("(x");
    const int hosts = times == std::string_view::npos ? 1 : number_at(times + 2);
    if (hosts < 1) return -1;
    if (host < hosts) return number_at(0) < 1 ? -1 : number_at(0);
    host -= hosts;
  }
  return -1;
}

// Slurm says it for all hosts of the step.
int tasks_of_this_host(Environment environment) {
  const auto list = environment("SLURM_STEP_TASKS_PER_NODE");
  const auto host = number_in(environment, "SLURM_NODEID");
  return list && host ? tasks_on(*list, *host) : -1;
}

constexpr const char* kRemedyOfSlurm =
    "start it with srun --mpi=pmix (srun --mpi=list tells what this Slurm has), or in salloc with "
    "mpirun";

}  // namespace

Launch launch_of(Environment environment) {
  for (const Names& names : kLaunchers) {
    const std::optional<int> size = number_in(environment, names.size);
    const std::optional<int> rank = number_in(environment, names.rank);
    if (!size || !rank || *size < 1) continue;
    Launch launch = {.launcher = names.launcher,
                     .rank = *rank,
                     .size = *size,
                     .local_rank = number_in(environment, names.local_rank).value_or(-1),
                     .local_size = number_in(environment, names.local_size).value_or(-1),
                     .because = format("{}={}", names.size, *size)};
    if (launch.launcher == Launcher::slurm) {
      launch.local_size = tasks_of_this_host(environment);
      launch.meeting = environment("PMIX_RANK") ? "pmix" : environment("PMI_RANK") ? "pmi2" : "";
    }
    return launch;
  }
  return {};
}

Launch launch_here() {
  return launch_of([](std::string_view name) { return environment_value(name); });
}

std::string_view name_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::none:
      return "no launcher";
    case Launcher::openmpi:
      return "mpirun of Open MPI";
    case Launcher::hydra:
      return "mpirun of MPICH (hydra)";
    case Launcher::slurm:
      return "srun";
  }
  return "";
}

void let_first_speak(const Launch& launch) {
  // One behind the other: of those, too, that a first one of another host does not speak for.
  using std::chrono::milliseconds;
  if (launch.rank > 0)
    std::this_thread::sleep_for(milliseconds(2'000) +
                                milliseconds(100) * std::min(launch.rank, 20));
}

void require_meeting(const Launch& launch) {
  if (launch.launcher != Launcher::slurm || !launch.is_many() || !launch.meeting.empty()) return;
  fail_usage({.where = "MPI",
              .what = format("srun started {} processes ({}), and gave them no way to meet",
                             launch.size, launch.because),
              .rule = "the processes that a launcher starts are the ranks of one job",
              .remedy = kRemedyOfSlurm});
}

void require_one_job(const Launch& launch, int mpi_size, std::string_view library) {
  if (launch.launcher == Launcher::none || launch.size == mpi_size) return;
  fail_usage(
      {.where = "MPI",
       .what = format("{} started {} processes ({}), and MPI ({}) sees {} of them",
                      name_of(launch.launcher), launch.size, launch.because, library, mpi_size),
       .rule = "the processes that a launcher starts are the ranks of one job",
       .remedy = launch.launcher == Launcher::slurm
                     ? kRemedyOfSlurm
                     : format("start it with the mpirun of the MPI that trireme_mpi.so was built "
                              "with ({}), or with --ranks and without a launcher",
                              library)});
}

}  // namespace trireme::comm::mpi
