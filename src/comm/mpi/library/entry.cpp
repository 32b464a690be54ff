// trireme_mpi.so: the table of comm/mpi/abi.h over the MPI that it was built with. All that is MPI
// is in this file.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <string_view>
#include <vector>

#include "comm/mpi/abi.h"
#include "comm/mpi/build_id.h"

namespace trireme::comm::mpi {

struct Mpi {
  MPI_Comm communicator = MPI_COMM_NULL;
  std::vector<MPI_Request> requests;  // by number; MPI_REQUEST_NULL where it is free
  std::vector<int8_t> receives;       // by number: whether it is one
  std::vector<int32_t> free;
  std::vector<int> indices;  // of MPI_Testsome
  std::vector<MPI_Status> statuses;
  std::deque<Completion> untold;
};

namespace {

Mpi process;

template <size_t N>
void write(char (&to)[N], std::string_view text) {
  const size_t length = std::min(text.size(), N - 1);
  std::copy_n(text.data(), length, to);
  to[length] = '\0';
}

// "call: what MPI says of its code".
Status checked(int code, const char* call, Failure* failure) {
  if (code == MPI_SUCCESS) return Status::done;
  char words[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (MPI_Error_string(code, words, &length) != MPI_SUCCESS) write(words, "an unknown error");
  char text[sizeof(failure->words)] = {};
  write(text, call);
  std::strncat(text, ": ", sizeof(text) - std::strlen(text) - 1);
  std::strncat(text, words, sizeof(text) - std::strlen(text) - 1);
  write(failure->words, text);
  return Status::failed;
}

template <class Body>
Status guarded(Failure* failure, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    write(failure->words, error.what());
    return Status::failed;
  }
}

#define TRIREME_MPI(call, name)                                                             \
  do {                                                                                      \
    if (const Status status = checked(call, name, failure); status != Status::done) return status; \
  } while (false)

Status open(Mpi** mpi, Place* place, Failure* failure) noexcept {
  return guarded(failure, [&] {
    int begun = 0;
    TRIREME_MPI(MPI_Initialized(&begun), "MPI_Initialized");
    if (begun != 0) {
      write(failure->words, "MPI was begun before in this process, which it allows once");
      return Status::failed;
    }
    // Where there are more processes than cores, one that waits inside MPI gives its core away.
    // Said by the user, it stays.
    static_cast<void>(::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0));
    int level = 0;
    TRIREME_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
    TRIREME_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
                "MPI_Comm_set_errhandler");
    if (level < MPI_THREAD_FUNNELED) {
      write(failure->words, "this MPI does not allow a process to have other threads");
      return Status::failed;
    }
    // Of our own, so that nothing else in the process meets our messages. Inherits the handler.
    TRIREME_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &process.communicator), "MPI_Comm_dup");
    TRIREME_MPI(MPI_Comm_rank(process.communicator, &place->rank), "MPI_Comm_rank");
    TRIREME_MPI(MPI_Comm_size(process.communicator, &place->size), "MPI_Comm_size");
    void* largest = nullptr;
    int found = 0;
    TRIREME_MPI(MPI_Comm_get_attr(process.communicator, MPI_TAG_UB, &largest, &found),
                "MPI_Comm_get_attr");
    place->largest_tag = found != 0 ? *static_cast<int*>(largest) : 32767;
    char name[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
    int length = 0;
    TRIREME_MPI(MPI_Get_library_version(name, &length), "MPI_Get_library_version");
    const std::string_view version(name);
    write(place->library, version.substr(0, version.find('\n')));
    char host[MPI_MAX_PROCESSOR_NAME + 1] = {};
    TRIREME_MPI(MPI_Get_processor_name(host, &length), "MPI_Get_processor_name");
    write(place->host, host);
    *mpi = &process;
    return Status::done;
  });
}

Status close(Mpi* mpi, Failure* failure) noexcept {
  TRIREME_MPI(MPI_Comm_free(&mpi->communicator), "MPI_Comm_free");
  return checked(MPI_Finalize(), "MPI_Finalize", failure);
}

void abort(Mpi*, int32_t exit_status) noexcept {
  MPI_Abort(MPI_COMM_WORLD, exit_status);
  std::_Exit(exit_status);
}

int32_t take_number(Mpi* mpi, bool receives) {
  if (mpi->free.empty()) {
    mpi->free.push_back(static_cast<int32_t>(mpi->requests.size()));
    mpi->requests.push_back(MPI_REQUEST_NULL);
    mpi->receives.push_back(0);
    mpi->indices.push_back(0);
    mpi->statuses.emplace_back();
  }
  const int32_t number = mpi->free.back();
  mpi->free.pop_back();
  mpi->receives[static_cast<size_t>(number)] = receives ? 1 : 0;
  return number;
}

Status send(Mpi* mpi, int32_t peer, int32_t tag, const void* data, int64_t bytes, int32_t* request,
            Failure* failure) noexcept {
  return guarded(failure, [&] {
    *request = take_number(mpi, false);
    return checked(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, mpi->communicator,
                             &mpi->requests[static_cast<size_t>(*request)]),
                   "MPI_Isend", failure);
  });
}

Status receive(Mpi* mpi, int32_t peer, int32_t tag, void* data, int64_t bytes, int32_t* request,
               Failure* failure) noexcept {
  return guarded(failure, [&] {
    *request = take_number(mpi, true);
    return checked(
        MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer == kAnyPeer ? MPI_ANY_SOURCE : peer,
                  tag, mpi->communicator, &mpi->requests[static_cast<size_t>(*request)]),
        "MPI_Irecv", failure);
  });
}

// Takes what MPI has completed into the list of what is to be told.
Status test(Mpi* mpi, Failure* failure) {
  int through = 0;
  const int code = MPI_Testsome(static_cast<int>(mpi->requests.size()), mpi->requests.data(),
                                &through, mpi->indices.data(), mpi->statuses.data());
  if (code == MPI_ERR_IN_STATUS) {
    for (int i = 0; i < through; ++i) {
      const int own = mpi->statuses[static_cast<size_t>(i)].MPI_ERROR;
      if (own != MPI_ERR_PENDING) TRIREME_MPI(own, "MPI_Testsome");
    }
  }
  TRIREME_MPI(code, "MPI_Testsome");
  if (through == MPI_UNDEFINED) through = 0;  // nothing is under way
  for (int i = 0; i < through; ++i) {
    const int number = mpi->indices[static_cast<size_t>(i)];
    const MPI_Status& status = mpi->statuses[static_cast<size_t>(i)];
    Completion completion = {number, kAnyPeer, 0};
    if (mpi->receives[static_cast<size_t>(number)] != 0) {
      int bytes = 0;
      TRIREME_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
      completion.peer = status.MPI_SOURCE;
      completion.bytes = bytes;
    }
    mpi->untold.push_back(completion);
  }
  return Status::done;
}

Status poll(Mpi* mpi, Completion* completions, int32_t most, int32_t* count,
            Failure* failure) noexcept {
  return guarded(failure, [&] {
    *count = 0;
    if (mpi->untold.empty()) {
      if (const Status status = test(mpi, failure); status != Status::done) return status;
    }
    while (*count < most && !mpi->untold.empty()) {
      completions[(*count)++] = mpi->untold.front();
      mpi->free.push_back(mpi->untold.front().request);
      mpi->untold.pop_front();
    }
    return Status::done;
  });
}

Status cancel(Mpi* mpi, int32_t request, Failure* failure) noexcept {
  MPI_Request& own = mpi->requests[static_cast<size_t>(request)];
  TRIREME_MPI(MPI_Cancel(&own), "MPI_Cancel");
  TRIREME_MPI(MPI_Wait(&own, MPI_STATUS_IGNORE), "MPI_Wait");
  mpi->free.push_back(request);
  return Status::done;
}

#undef TRIREME_MPI

}  // namespace
}  // namespace trireme::comm::mpi

extern "C" __attribute__((visibility("default"))) const trireme::comm::mpi::Table*
trireme_mpi() noexcept {
  using namespace trireme::comm::mpi;
  static const Table kTable = {.version = kVersion,
                               .bytes = sizeof(Table),
                               .build_id = build_id(),
                               .open = open,
                               .close = close,
                               .abort = abort,
                               .send = send,
                               .receive = receive,
                               .poll = poll,
                               .cancel = cancel};
  return &kTable;
}
