#include "comm/testing/fake_mpi.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <thread>

#include "comm/mpi/build_id.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::comm::testing {
namespace {

using mpi::Completion;
using mpi::Failure;
using mpi::Mpi;
using mpi::Place;
using mpi::Status;

// A message on its way.
struct Envelope {
  int from = 0;
  int tag = 0;
  const std::byte* data = nullptr;  // the sender's; null: it was copied
  std::vector<std::byte> copy;
  int64_t bytes = 0;
  int request = -1;  // of the sender, which waits for the match
  int polls = 0;     // of its receiver, until it is there
};

struct Posted {
  int peer = 0;
  int tag = 0;
  std::byte* data = nullptr;
  int64_t bytes = 0;
  int request = 0;
};

struct Rank {
  FakeMpiWorld::State* world = nullptr;
  int number = 0;
  std::list<Envelope> coming;  // in the order in which they were sent
  std::list<Posted> posted;
  std::deque<Completion> completions;
  std::vector<int> free;
  int requests = 0;
  int64_t calls = 0;
};

thread_local Rank* current = nullptr;

void write(Failure& failure, std::string_view words) {
  const size_t length = std::min(words.size(), sizeof(failure.words) - 1);
  std::copy_n(words.data(), length, failure.words);
  failure.words[length] = '\0';
}

}  // namespace

struct FakeMpiWorld::State {
  FakeMpi behaviour;
  std::mutex mutex;
  std::mt19937 random;
  std::deque<Rank> ranks;
  int64_t unexpected = 0;
  int64_t most_unexpected = 0;
};

namespace {

Rank& rank_of(Mpi* mpi) {
  return *reinterpret_cast<Rank*>(mpi);
}

// Whether this call of the rank's is the one that fails.
bool fails(Rank& rank, Failure* failure) {
  const FakeMpi& behaviour = rank.world->behaviour;
  if (rank.number != behaviour.failing_rank || rank.calls++ != behaviour.failing_call) return false;
  write(*failure, "MPI_Fake: MPI_ERR_OTHER: planted");
  return true;
}

int take_number(Rank& rank) {
  if (rank.free.empty()) return rank.requests++;
  const int number = rank.free.back();
  rank.free.pop_back();
  return number;
}

Status open(Mpi** mpi, Place* place, Failure* failure) noexcept {
  const std::lock_guard lock(current->world->mutex);
  if (fails(*current, failure)) return Status::failed;
  *mpi = reinterpret_cast<Mpi*>(current);
  *place = {.rank = current->number,
            .size = static_cast<int32_t>(current->world->ranks.size()),
            .largest_tag = 32767,
            .library = "fake MPI",
            .host = "here"};
  return Status::done;
}

Status close(Mpi* mpi, Failure* failure) noexcept {
  Rank& rank = rank_of(mpi);
  const std::lock_guard lock(rank.world->mutex);
  TRIREME_ASSERT(rank.posted.empty(), "what was posted is cancelled before the end");
  return fails(rank, failure) ? Status::failed : Status::done;
}

void abort(Mpi*, int32_t) noexcept {
  broken_invariant("abort", __FILE__, __LINE__, "ranks that are threads are not aborted");
}

Status send(Mpi* mpi, int32_t peer, int32_t tag, const void* data, int64_t bytes, int32_t* request,
            Failure* failure) noexcept {
  Rank& rank = rank_of(mpi);
  FakeMpiWorld::State& world = *rank.world;
  const std::lock_guard lock(world.mutex);
  if (fails(rank, failure)) return Status::failed;
  *request = take_number(rank);
  Envelope envelope = {.from = rank.number, .tag = tag, .bytes = bytes};
  if (world.behaviour.most_polls > 0)
    envelope.polls =
        static_cast<int>(world.random() % (1U + static_cast<uint32_t>(world.behaviour.most_polls)));
  const auto* first = static_cast<const std::byte*>(data);
  if (bytes <= world.behaviour.eager) {
    envelope.copy.assign(first, first + bytes);
    rank.completions.push_back({*request, mpi::kAnyPeer, 0});
    world.unexpected += bytes;
    world.most_unexpected = std::max(world.most_unexpected, world.unexpected);
  } else {
    envelope.data = first;
    envelope.request = *request;
  }
  world.ranks[static_cast<size_t>(peer)].coming.push_back(std::move(envelope));
  return Status::done;
}

Status receive(Mpi* mpi, int32_t peer, int32_t tag, void* data, int64_t bytes, int32_t* request,
               Failure* failure) noexcept {
  Rank& rank = rank_of(mpi);
  const std::lock_guard lock(rank.world->mutex);
  if (fails(rank, failure)) return Status::failed;
  *request = take_number(rank);
  rank.posted.push_back({peer, tag, static_cast<std::byte*>(data), bytes, *request});
  return Status::done;
}

// Gives what is there to the receives that wait for it, in MPI's order.
Status match(Rank& rank, Failure* failure) {
  FakeMpiWorld::State& world = *rank.world;
  std::vector<bool> behind(world.ranks.size());  // something before it is not there yet
  for (auto envelope = rank.coming.begin(); envelope != rank.coming.end();) {
    const auto from = static_cast<size_t>(envelope->from);
    if (envelope->polls > 0) --envelope->polls;
    if (envelope->polls > 0) behind[from] = true;
    const auto posted =
        behind[from]
            ? rank.posted.end()
            : std::find_if(rank.posted.begin(), rank.posted.end(), [&](const Posted& receive) {
                return receive.tag == envelope->tag &&
                       (receive.peer == mpi::kAnyPeer || receive.peer == envelope->from);
              });
    if (posted == rank.posted.end()) {
      ++envelope;
      continue;
    }
    if (envelope->bytes > posted->bytes) {
      write(*failure, "MPI_Fake: MPI_ERR_TRUNCATE: message truncated");
      return Status::failed;
    }
    const std::byte* data = envelope->data;
    if (data == nullptr) {
      data = envelope->copy.data();
      world.unexpected -= envelope->bytes;
    } else {
      world.ranks[from].completions.push_back({envelope->request, mpi::kAnyPeer, 0});
    }
    if (envelope->bytes > 0) std::memcpy(posted->data, data, static_cast<size_t>(envelope->bytes));
    rank.completions.push_back({posted->request, envelope->from, envelope->bytes});
    rank.posted.erase(posted);
    envelope = rank.coming.erase(envelope);
  }
  return Status::done;
}

Status poll(Mpi* mpi, Completion* completions, int32_t most, int32_t* count,
            Failure* failure) noexcept {
  Rank& rank = rank_of(mpi);
  const std::lock_guard lock(rank.world->mutex);
  if (fails(rank, failure)) return Status::failed;
  if (const Status status = match(rank, failure); status != Status::done) return status;
  for (*count = 0; *count < most && !rank.completions.empty(); ++*count) {
    completions[*count] = rank.completions.front();
    rank.free.push_back(rank.completions.front().request);
    rank.completions.pop_front();
  }
  return Status::done;
}

Status cancel(Mpi* mpi, int32_t request, Failure* failure) noexcept {
  Rank& rank = rank_of(mpi);
  const std::lock_guard lock(rank.world->mutex);
  if (fails(rank, failure)) return Status::failed;
  rank.posted.remove_if([&](const Posted& posted) { return posted.request == request; });
  return Status::done;
}

const mpi::Table kTable = {.version = mpi::kVersion,
                           .bytes = sizeof(mpi::Table),
                           .build_id = "fake",
                           .open = open,
                           .close = close,
                           .abort = abort,
                           .send = send,
                           .receive = receive,
                           .poll = poll,
                           .cancel = cancel};

}  // namespace

FakeMpiWorld::FakeMpiWorld(int ranks, const FakeMpi& behaviour)
    : state_(std::make_unique<State>()) {
  state_->behaviour = behaviour;
  state_->random.seed(behaviour.seed);
  state_->ranks.resize(static_cast<size_t>(ranks));
  for (int number = 0; number < ranks; ++number) {
    Rank& rank = state_->ranks[static_cast<size_t>(number)];
    rank.world = state_.get();
    rank.number = number;
  }
}

FakeMpiWorld::~FakeMpiWorld() = default;

const mpi::Table& FakeMpiWorld::table(int rank) {
  current = &state_->ranks[static_cast<size_t>(rank)];
  return kTable;
}

int64_t FakeMpiWorld::most_unexpected() const {
  return state_->most_unexpected;
}

void run_ranks_over_mpi(const LocalRun& run, const std::function<void(Port& port)>& body,
                        const FakeMpi& behaviour, mpi::MpiLimits limits) {
  FakeMpiWorld world(run.ranks, behaviour);
  // MPI's end of a rank stays until all have ended: as in a process that fails.
  std::vector<std::optional<mpi::Wire>> wires(static_cast<size_t>(run.ranks));
  std::mutex mutex;
  std::exception_ptr cause;
  std::vector<std::thread> threads;
  for (int number = 0; number < run.ranks; ++number) {
    threads.emplace_back([&, number] {
      const std::string name = format("rank {}", number);
      set_place(run.places.empty()
                    ? name
                    : format("{} = {}", name, run.places[static_cast<size_t>(number)]));
      std::optional<mpi::Wire>& wire = wires[static_cast<size_t>(number)];
      const auto keep_cause = [&] {
        const std::lock_guard lock(mutex);
        if (!cause) cause = std::current_exception();
      };
      try {
        wire.emplace(world.table(number));
        std::unique_ptr<Transport> transport =
            std::make_unique<mpi::MpiTransport>(*wire, run.places, limits);
        Transport* const end = transport.get();
        if (run.between) transport = run.between(std::move(transport));
        Port port(std::move(transport), run.patience);
        try {
          body(port);
        } catch (...) {
          const bool follows = wire->stopped_by() >= 0 && wire->stopped_by() != number;
          if (!follows) keep_cause();
          end->withdraw();
          throw;
        }
      } catch (...) {
        if (!wire) keep_cause();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (cause) std::rethrow_exception(cause);
  for (auto& wire : wires) {
    if (wire->stopped_by() >= 0) {
      fail({.where = format("rank {}", wire->stopped_by()),
            .what = "it ended while others could still read what it had lent"});
    }
    while (!wire->all_sent()) wire->poll();
    wire->close();
  }
}

}  // namespace trireme::comm::testing
