// trireme_mpi.so: the table of comm/mpi/abi.h over the MPI that it was built with. All that is MPI
// is in this file.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "comm/mpi/abi.h"
#include "comm/mpi/build_id.h"

namespace trireme::comm::mpi {

struct Mpi {
  // Not one of our own: making it is an exchange without a deadline, which would never end where
  // hosts do not reach each other. And nothing else in this process uses MPI.
  MPI_Comm communicator = MPI_COMM_WORLD;
  std::vector<MPI_Request> requests;  // by number; MPI_REQUEST_NULL where it is free
  std::vector<bool> receives;         // by number: whether it is one
  std::vector<int32_t> free;
  std::vector<int> indices;  // of MPI_Testsome
  std::vector<MPI_Status> statuses;
  std::deque<Completion> untold;
};

namespace {

constexpr unsigned kAbortSeconds = 3;

Mpi process;

template <size_t N>
void write(char (&to)[N], std::string_view text) {
  const size_t length = std::min(text.size(), N - 1);
  std::copy_n(text.data(), length, to);
  to[length] = '\0';
}

// Throws "call: what MPI says of its code".
void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (MPI_Error_string(code, words, &length) != MPI_SUCCESS) write(words, "an unknown error");
  throw std::runtime_error(std::string(call) + ": " + words);
}

template <class Body>
Status guarded(Failure* failure, Body body) noexcept {
  try {
    body();
    return Status::done;
  } catch (const std::exception& error) {
    write(failure->words, error.what());
    return Status::failed;
  }
}

void begin() {
  int begun = 0;
  check(MPI_Initialized(&begun), "MPI_Initialized");
  if (begun != 0) throw std::runtime_error("MPI was begun before, which a process may do once");
  // Who waits is comm/wait.h's business: a rank that only looks for messages between two ops, as
  // poll() does, keeps its core. Where others want it, Open MPI's way cost tenfold. What the user
  // says, stays.
  static_cast<void>(::setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0));
  // Two connections to each peer: on a single one the few bytes that let the other side send its
  // next message stand behind megabytes of this one's, and a link carries half of what it could.
  static_cast<void>(::setenv("OMPI_MCA_btl_tcp_links", "2", 0));
  int level = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (level < MPI_THREAD_FUNNELED)
    throw std::runtime_error("this MPI does not allow a process to have other threads");
}

void describe(MPI_Comm communicator, Place& place) {
  check(MPI_Comm_rank(communicator, &place.rank), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator, &place.size), "MPI_Comm_size");
  void* largest = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(communicator, MPI_TAG_UB, static_cast<void*>(&largest), &found),
        "MPI_Comm_get_attr");
  place.largest_tag = found != 0 ? *static_cast<int*>(largest) : 32767;  // what MPI promises
  char name[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  check(MPI_Get_library_version(name, &length), "MPI_Get_library_version");
  const std::string_view version(name);
  write(place.library, version.substr(0, version.find_first_of(",\n")));
  char host[MPI_MAX_PROCESSOR_NAME + 1] = {};
  check(MPI_Get_processor_name(host, &length), "MPI_Get_processor_name");
  write(place.host, host);
}

Status open(Mpi** mpi, Place* place, Failure* failure) noexcept {
  return guarded(failure, [&] {
    begin();
    describe(process.communicator, *place);
    *mpi = &process;
  });
}

Status close(Mpi*, Failure* failure) noexcept {
  return guarded(failure, [] { check(MPI_Finalize(), "MPI_Finalize"); });
}

int32_t status_at_alarm = 1;

void abort(Mpi*, int32_t exit_status) noexcept {
  // A launcher that cannot be reached any more cannot end this process.
  status_at_alarm = exit_status;
  static_cast<void>(std::signal(SIGALRM, [](int) { std::_Exit(status_at_alarm); }));
  static_cast<void>(::alarm(kAbortSeconds));
  MPI_Abort(MPI_COMM_WORLD, exit_status);
  std::_Exit(exit_status);
}

int32_t take_number(Mpi& mpi, bool receives) {
  if (mpi.free.empty()) {
    mpi.free.push_back(static_cast<int32_t>(mpi.requests.size()));
    mpi.requests.push_back(MPI_REQUEST_NULL);
    mpi.receives.push_back(false);
    mpi.indices.push_back(0);
    mpi.statuses.emplace_back();
  }
  const int32_t number = mpi.free.back();
  mpi.free.pop_back();
  mpi.receives[static_cast<size_t>(number)] = receives;
  return number;
}

Status send(Mpi* mpi, int32_t peer, int32_t tag, const void* data, int64_t bytes, int32_t* request,
            Failure* failure) noexcept {
  return guarded(failure, [&] {
    *request = take_number(*mpi, false);
    check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, mpi->communicator,
                    &mpi->requests[static_cast<size_t>(*request)]),
          "MPI_Isend");
  });
}

Status receive(Mpi* mpi, int32_t peer, int32_t tag, void* data, int64_t bytes, int32_t* request,
               Failure* failure) noexcept {
  return guarded(failure, [&] {
    *request = take_number(*mpi, true);
    check(
        MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer == kAnyPeer ? MPI_ANY_SOURCE : peer,
                  tag, mpi->communicator, &mpi->requests[static_cast<size_t>(*request)]),
        "MPI_Irecv");
  });
}

// Takes what MPI has completed into the list of what is to be told.
void test(Mpi& mpi) {
  int through = 0;
  const int code = MPI_Testsome(static_cast<int>(mpi.requests.size()), mpi.requests.data(),
                                &through, mpi.indices.data(), mpi.statuses.data());
  if (code == MPI_ERR_IN_STATUS) {
    for (int i = 0; i < through; ++i) {
      const int own = mpi.statuses[static_cast<size_t>(i)].MPI_ERROR;
      if (own != MPI_ERR_PENDING) check(own, "MPI_Testsome");
    }
  }
  check(code, "MPI_Testsome");
  if (through == MPI_UNDEFINED) through = 0;  // nothing is under way
  for (int i = 0; i < through; ++i) {
    const int number = mpi.indices[static_cast<size_t>(i)];
    const MPI_Status& status = mpi.statuses[static_cast<size_t>(i)];
    Completion completion = {number, kAnyPeer, 0};
    if (mpi.receives[static_cast<size_t>(number)]) {
      int bytes = 0;
      check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
      completion.peer = status.MPI_SOURCE;
      completion.bytes = bytes;
    }
    mpi.untold.push_back(completion);
  }
}

Status poll(Mpi* mpi, Completion* completions, int32_t most, int32_t* count,
            Failure* failure) noexcept {
  return guarded(failure, [&] {
    if (mpi->untold.empty()) test(*mpi);
    for (*count = 0; *count < most && !mpi->untold.empty(); ++*count) {
      completions[*count] = mpi->untold.front();
      mpi->free.push_back(mpi->untold.front().request);
      mpi->untold.pop_front();
    }
  });
}

Status cancel(Mpi* mpi, int32_t request, Failure* failure) noexcept {
  return guarded(failure, [&] {
    MPI_Request& own = mpi->requests[static_cast<size_t>(request)];
    if (own == MPI_REQUEST_NULL) return;  // it is through, and not yet told
    check(MPI_Cancel(&own), "MPI_Cancel");
    check(MPI_Wait(&own, MPI_STATUS_IGNORE), "MPI_Wait");
    mpi->free.push_back(request);
  });
}

}  // namespace
}  // namespace trireme::comm::mpi

extern "C" __attribute__((visibility("default"))) const trireme::comm::mpi::Table*
trireme_mpi() noexcept {
  namespace mpi = trireme::comm::mpi;
  static const mpi::Table kTable = {.version = mpi::kVersion,
                                    .bytes = sizeof(mpi::Table),
                                    .build_id = mpi::build_id(),
                                    .open = mpi::open,
                                    .close = mpi::close,
                                    .abort = mpi::abort,
                                    .send = mpi::send,
                                    .receive = mpi::receive,
                                    .poll = mpi::poll,
                                    .cancel = mpi::cancel};
  return &kTable;
}
