#pragma once
#include <optional>

#include "comm/mpi/abi.h"
#include "core/error.h"
#include "core/shared_library.h"

namespace trireme::comm::mpi {

/// Opens trireme_mpi.so, in a folder of TRIREME_PLUGIN_PATH or beside the program; it stays open
/// until the process ends. Throws, with all that was tried and what to install or build, where
/// there is none or it is of another build.
[[nodiscard]] const Table& open_library();

/// The same, of this file.
[[nodiscard]] const Table& open_library(const Path& file);

/// Why a library's table cannot be used by this program; none where it can. Looks at nothing that
/// another version may have elsewhere.
[[nodiscard]] std::optional<Trouble> refusal(const Table& table, const Path& file);

}  // namespace trireme::comm::mpi
