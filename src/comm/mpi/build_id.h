#pragma once

namespace trireme::comm::mpi {

/// Names this build of what the program and trireme_mpi.so have in common: the sources of
/// comm/mpi/, compiler and flags. Ranks compare it too: equal, a message's frame has one layout.
[[nodiscard]] const char* build_id();

}  // namespace trireme::comm::mpi
