#include "comm/mpi/launch.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"

namespace trireme::comm::mpi {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

Launch launch_in(const Variables& variables) {
  return launch_of([&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

const Variables kOpenMpi = {{"OMPI_COMM_WORLD_SIZE", "8"},
                            {"OMPI_COMM_WORLD_RANK", "5"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                            {"PMIX_RANK", "5"}};
// As srun sets them in each process; a batch script has some of them, but none of a step.
const Variables kBatch = {{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}};
const Variables kStep = {{"SLURM_NTASKS", "4"},
                         {"SLURM_STEP_NUM_TASKS", "4"},
                         {"SLURM_PROCID", "3"},
                         {"SLURM_LOCALID", "1"}};

TEST(Launch, IsNoneInAShell) {
  const Launch launch = launch_in({{"PATH", "/bin"}});
  EXPECT_EQ(launch.launcher, Launcher::none);
  EXPECT_FALSE(launch.is_many());
}

TEST(Launch, KnowsTheMpirunsOfOpenMpiAndMpich) {
  const Launch openmpi = launch_in(kOpenMpi);
  EXPECT_EQ(openmpi.launcher, Launcher::openmpi);
  EXPECT_EQ(openmpi.rank, 5);
  EXPECT_EQ(openmpi.size, 8);
  EXPECT_EQ(openmpi.local_rank, 1);
  EXPECT_EQ(openmpi.local_size, 4);
  EXPECT_EQ(openmpi.because, "OMPI_COMM_WORLD_SIZE=8");
  EXPECT_TRUE(openmpi.is_many());
  const Launch hydra = launch_in({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}});
  EXPECT_EQ(hydra.launcher, Launcher::hydra);
  EXPECT_EQ(hydra.rank, 1);
  EXPECT_EQ(hydra.size, 2);
  EXPECT_EQ(hydra.local_rank, -1);
}

TEST(Launch, OfABatchScriptItselfIsNone) {
  EXPECT_EQ(launch_in(kBatch).launcher, Launcher::none);
}

TEST(Launch, KnowsHowTheProcessesOfAStepMeet) {
  Variables variables = kStep;
  EXPECT_EQ(launch_in(variables).launcher, Launcher::slurm);
  EXPECT_EQ(launch_in(variables).size, 4);
  EXPECT_EQ(launch_in(variables).meeting, "");
  variables["PMI_RANK"] = "3";
  variables["PMI_SIZE"] = "4";
  EXPECT_EQ(launch_in(variables).launcher, Launcher::slurm);
  EXPECT_EQ(launch_in(variables).meeting, "pmi2");
  variables["PMIX_RANK"] = "3";
  EXPECT_EQ(launch_in(variables).meeting, "pmix");
}

TEST(Launch, KnowsHowManyTasksOfAStepAreOnItsHost) {
  EXPECT_EQ(launch_in(kStep).local_size, -1);
  Variables variables = kStep;
  const auto local_size = [&](const char* list, const char* host) {
    variables["SLURM_STEP_TASKS_PER_NODE"] = list;
    variables["SLURM_NODEID"] = host;
    return launch_in(variables).local_size;
  };
  EXPECT_EQ(local_size("4", "0"), 4);
  EXPECT_EQ(local_size("8(x4)", "3"), 8);
  EXPECT_EQ(local_size("8(x4)", "4"), -1);
  EXPECT_EQ(local_size("2(x3),1,16(x2)", "2"), 2);
  EXPECT_EQ(local_size("2(x3),1,16(x2)", "3"), 1);
  EXPECT_EQ(local_size("2(x3),1,16(x2)", "5"), 16);
  for (const char* list : {"", "many", "2(x", "2(x0)", "(x2)", "-3"})
    EXPECT_EQ(local_size(list, "0"), -1) << list;
}

TEST(Launch, OfMpirunInsideAStepIsMpirun) {
  Variables variables = kStep;
  variables.insert(kOpenMpi.begin(), kOpenMpi.end());
  EXPECT_EQ(launch_in(variables).launcher, Launcher::openmpi);
}

TEST(Launch, RefusesWhatIsNoNumber) {
  for (const char* text : {"many", "-1", "3x", "99999999999"}) {
    Variables variables = kOpenMpi;
    variables["OMPI_COMM_WORLD_SIZE"] = text;
    try {
      static_cast<void>(launch_in(variables));
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("OMPI_COMM_WORLD_SIZE"), std::string::npos);
    }
  }
}

std::string refusal_of(const Launch& launch, int mpi_size) {
  try {
    require_one_job(launch, mpi_size, "Open MPI v4.1.4");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    return error.what();
  }
  return "";
}

TEST(Launch, RefusesJobsOfOneRankEachWithWhatToDo) {
  EXPECT_EQ(refusal_of(launch_in(kOpenMpi), 8), "");
  EXPECT_EQ(refusal_of({}, 1), "");
  const std::string mpirun = refusal_of(launch_in(kOpenMpi), 1);
  for (const char* part :
       {"started 8 processes", "OMPI_COMM_WORLD_SIZE=8", "sees 1", "Open MPI v4.1.4"})
    EXPECT_NE(mpirun.find(part), std::string::npos) << part << " in " << mpirun;
  const std::string srun = refusal_of(launch_in(kStep), 1);
  for (const char* part : {"srun started 4 processes", "srun --mpi=pmix", "srun --mpi=list"})
    EXPECT_NE(srun.find(part), std::string::npos) << part << " in " << srun;
}

TEST(Launch, RefusesAStepOfSrunWhoseProcessesCannotMeet) {
  require_meeting({});
  require_meeting(launch_in(kOpenMpi));
  Variables met = kStep;
  met["PMIX_RANK"] = "3";
  require_meeting(launch_in(met));
  Variables alone = kStep;
  alone["SLURM_STEP_NUM_TASKS"] = "1";
  require_meeting(launch_in(alone));
  try {
    require_meeting(launch_in(kStep));
    FAIL();
  } catch (const Error& error) {
    for (const char* part :
         {"srun started 4 processes (SLURM_STEP_NUM_TASKS=4)", "srun --mpi=pmix"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(error.exit_status(), 2);
  }
}

}  // namespace
}  // namespace trireme::comm::mpi
