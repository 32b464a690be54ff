message(FATAL_ERROR "The tests of ranks under MPI were not built, since CMake found no MPI: install it (./dev packages mpi), and configure again (./dev build)")
