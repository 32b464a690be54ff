#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/thread_pool.h"

namespace trireme::comm::mpi {

/// Who started this process.
enum class Launcher {
  none,     ///< a shell, a scheduler's batch script: the ranks are threads of this process
  openmpi,  ///< Open MPI's mpirun
  hydra,    ///< MPICH's mpirun, and its relatives'
  slurm,    ///< srun
};

/// What a launcher tells the processes that it starts.
struct Launch {
  Launcher launcher = Launcher::none;
  int rank = 0;
  int size = 1;
  /// Among this job's processes on this host; -1 where the launcher does not say.
  int local_rank = -1;
  int local_size = -1;
  std::string because;  ///< the variable that tells, as in "OMPI_COMM_WORLD_SIZE=4"
  /// Under srun: how MPI learns of the others, as in "pmix"; empty: it does not.
  std::string meeting;

  /// More processes than one: they are the ranks, over MPI.
  [[nodiscard]] bool is_many() const { return size > 1; }
};

/// A variable of the environment; none where it is not set or empty.
using Environment = FunctionRef<std::optional<std::string>(std::string_view name)>;

/// Looks at the innermost launcher: mpirun inside of a Slurm job is mpirun. Throws where a launcher
/// says what is no number.
[[nodiscard]] Launch launch_of(Environment environment);
/// Of this process.
[[nodiscard]] Launch launch_here();

/// "mpirun of Open MPI", "srun", ....
[[nodiscard]] std::string_view name_of(Launcher launcher);

/// Before MPI begins no rank knows of the others. Of those that fail alike (all read the same
/// options) the first one speaks at once, and the launcher ends the others as it goes: they sleep
/// here until that has happened. Who wakes up found something that the first one did not.
void let_first_speak(const Launch& launch);

/// Refuses a step of srun whose processes cannot meet, before MPI is asked to.
void require_meeting(const Launch& launch);
/// Refuses a world that MPI does not see as the launcher does: N programs of one rank each would
/// all train the same. library: as MPI names itself.
void require_one_job(const Launch& launch, int mpi_size, std::string_view library);

}  // namespace trireme::comm::mpi
