#include "core/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/error.h"

namespace trireme {

std::span<const EnvironmentVariable> environment_variables() {
  static constexpr std::array kVariables = {
      EnvironmentVariable{.name = "TRIREME_PLUGIN_PATH",
                          .reader = "`trireme` with --device",
                          .meaning =
                              "folders, with colons between them, in which a device's library "
                              "(trireme_NAME.so) is looked for before the program's own folder",
                          .otherwise = "only the program's own folder"},
      EnvironmentVariable{
          .name = "OMPI_COMM_WORLD_SIZE",
          .reader = "`trireme`",
          .meaning =
              "processes that Open MPI's mpirun started: more than one are the ranks, over MPI",
          .otherwise = "no such launcher"},
      EnvironmentVariable{.name = "OMPI_COMM_WORLD_RANK",
                          .reader = "`trireme`",
                          .meaning = "which of them this one is",
                          .otherwise = "no such launcher"},
      EnvironmentVariable{.name = "OMPI_COMM_WORLD_LOCAL_RANK",
                          .reader = "`trireme`",
                          .meaning = "which of those on its host",
                          .otherwise = "unknown"},
      EnvironmentVariable{.name = "OMPI_COMM_WORLD_LOCAL_SIZE",
                          .reader = "`trireme`",
                          .meaning = "how many of them are on its host",
                          .otherwise = "unknown"},
      EnvironmentVariable{.name = "PMI_SIZE",
                          .reader = "`trireme`",
                          .meaning = "the same of MPICH's mpirun (hydra) and its relatives",
                          .otherwise = "no such launcher"},
      EnvironmentVariable{.name = "PMI_RANK",
                          .reader = "`trireme`",
                          .meaning = "which of them this one is; under srun, that it meets by pmi2",
                          .otherwise = "no such launcher"},
      EnvironmentVariable{.name = "MPI_LOCALRANKID",
                          .reader = "`trireme`",
                          .meaning = "which of those on its host",
                          .otherwise = "unknown"},
      EnvironmentVariable{.name = "MPI_LOCALNRANKS",
                          .reader = "`trireme`",
                          .meaning = "how many of them are on its host",
                          .otherwise = "unknown"},
      EnvironmentVariable{.name = "SLURM_STEP_NUM_TASKS",
                          .reader = "`trireme`",
                          .meaning = "the same of Slurm's srun",
                          .otherwise = "no such launcher"},
      EnvironmentVariable{.name = "SLURM_PROCID",
                          .reader = "`trireme`",
                          .meaning = "which of them this one is",
                          .otherwise = "no such launcher"},
      EnvironmentVariable{.name = "SLURM_LOCALID",
                          .reader = "`trireme`",
                          .meaning = "which of those on its host",
                          .otherwise = "unknown"},
      EnvironmentVariable{.name = "SLURM_NODEID",
                          .reader = "`trireme`",
                          .meaning = "which of the step's hosts this one is",
                          .otherwise = "unknown"},
      EnvironmentVariable{.name = "SLURM_STEP_TASKS_PER_NODE",
                          .reader = "`trireme`",
                          .meaning = "how many of the step's processes are on each host",
                          .otherwise = "all are taken to be on this one"},
      EnvironmentVariable{.name = "PMIX_RANK",
                          .reader = "`trireme`",
                          .meaning = "under srun, that processes meet by pmix",
                          .otherwise = "they do not"},
      EnvironmentVariable{.name = "OMPI_MCA_mpi_yield_when_idle",
                          .reader = "Open MPI, in a `trireme` that it started",
                          .meaning =
                              "whether Open MPI gives a core away each time that it finds no "
                              "message, also between two ops; the program's own waits do "
                              "without",
                          .otherwise = "the program sets it to 0"},
      EnvironmentVariable{.name = "OMPI_MCA_btl_tcp_links",
                          .reader = "Open MPI, in a `trireme` that it started",
                          .meaning = "connections to each rank on another host, over TCP",
                          .otherwise = "the program sets it to 2"},
      EnvironmentVariable{
          .name = "TRIREME_GPT2_VOCAB",
          .reader = "the tests of text/",
          .meaning = "folder with GPT-2's own vocab.json and merges.txt, against which the "
                     "tokenizer is then held",
          .otherwise = "these tests are skipped, which the summary shows"},
      EnvironmentVariable{.name = "TMPDIR",
                          .reader = "tests, Python scripts in tools/",
                          .meaning = "where temporary folders are made",
                          .otherwise = "/tmp"},
      EnvironmentVariable{.name = "PATH",
                          .reader = "./dev, tests",
                          .meaning = "where cmake, git and other programs are looked for",
                          .otherwise = "as the shell has it"},
      EnvironmentVariable{.name = "CXX",
                          .reader = "./dev, by way of CMake",
                          .meaning = "the C++ compiler, when a folder in build/ is configured for "
                                     "the first time",
                          .otherwise = "c++"},
      EnvironmentVariable{.name = "TRIREME_PYTORCH",
                          .reader = "./dev bench",
                          .meaning = "a python that can import torch: PyTorch's training step is "
                                     "then measured beside ours",
                          .otherwise = "python3, where it can"},
      EnvironmentVariable{.name = "RAYON_NUM_THREADS",
                          .reader = "tools/tokenizer_peers.py",
                          .meaning = "threads of Hugging Face's tokenizers in a comparison; the "
                                     "script sets it",
                          .otherwise = "all cores"},
  };
  return kVariables;
}

std::optional<std::string> environment_value(std::string_view name) {
  const auto variables = environment_variables();
  const auto declared =
      std::find_if(variables.begin(), variables.end(),
                   [&](const EnvironmentVariable& variable) { return variable.name == name; });
  TRIREME_ASSERT(declared != variables.end(), "an environment variable that is read is declared");
  const char* const value = std::getenv(std::string(name).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace trireme
