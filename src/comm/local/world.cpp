#include "comm/local/world.h"

#include <new>
#include <thread>

#include "comm/local/local_transport.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::comm {
namespace {

// Speaks for a rank whose thread has ended.
class PlaceOf {
 public:
  explicit PlaceOf(std::string rank) : own_(place()) { set_place(std::move(rank)); }
  ~PlaceOf() { set_place(own_); }
  PlaceOf(const PlaceOf&) = delete;
  PlaceOf& operator=(const PlaceOf&) = delete;

 private:
  std::string own_;
};

}  // namespace

LocalWorld::State::State(int ranks, std::vector<std::string> rank_places)
    : places(std::move(rank_places)), boxes(static_cast<size_t>(ranks)) {}

std::string LocalWorld::State::name_of(int rank) const {
  if (places.empty()) return format("rank {}", rank);
  return format("rank {} ({})", rank, places[static_cast<size_t>(rank)]);
}

std::string LocalWorld::State::place_of(int rank) const {
  if (places.empty()) return format("rank {}", rank);
  return format("rank {} = {}", rank, places[static_cast<size_t>(rank)]);
}

int LocalWorld::State::open_group(const std::vector<int>& ranks, int times) {
  const std::lock_guard lock(mutex);
  return groups.try_emplace({ranks, times}, static_cast<int>(groups.size())).first->second;
}

void LocalWorld::State::end(int rank) noexcept {
  int nobody = -1;
  if (!ended_by.compare_exchange_strong(nobody, rank)) return;
  for (Box& box : boxes) box.tell();
}

void LocalWorld::State::note_wait(int rank, std::string what) {
  const std::lock_guard lock(mutex);
  waits.try_emplace(rank, std::move(what));
}

void LocalWorld::State::rethrow(int by) const {
  try {
    std::rethrow_exception(cause);
  } catch (const Silence& silence) {
    throw silence_of(by, silence.trouble());
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    fail_at(by, {.what = "out of memory: an allocation was refused",
                 .remedy = "use a smaller model or batch, or raise the limit (ulimit -v, control "
                           "group)"});
  } catch (const std::exception& error) {
    fail_at(by, {.what = error.what()});
  }
}

// Whoever has waited longest speaks first, and may wait for one that waits itself: what all others
// wait for shows who is at fault.
Silence LocalWorld::State::silence_of(int by, Trouble trouble) const {
  for (int rank = 0; rank < static_cast<int>(boxes.size()); ++rank) {
    if (rank == by) continue;
    const auto found = waits.find(rank);
    trouble.remedy += found == waits.end()
                          ? format("\n  {} was not waiting", name_of(rank))
                          : format("\n  {} was waiting {}", name_of(rank), found->second);
  }
  const PlaceOf place(place_of(by));
  return Silence(trouble);
}

void LocalWorld::State::fail_at(int rank, const Trouble& trouble) const {
  const PlaceOf place(place_of(rank));
  trireme::fail(trouble);
}

void Box::tell() noexcept {
  news.fetch_add(1);
  if (!sleeps.load()) return;
  // The sleeper has looked at the news and not yet gone to sleep, or sleeps.
  { const std::lock_guard lock(mutex); }
  wake.notify_one();
}

LocalWorld::LocalWorld(int ranks, std::vector<std::string> places) {
  TRIREME_ASSERT(ranks >= 1, "a world has ranks");
  TRIREME_ASSERT(places.empty() || places.size() == static_cast<size_t>(ranks),
                 "each rank has a place");
  state_ = std::make_unique<State>(ranks, std::move(places));
}

LocalWorld::~LocalWorld() = default;

int LocalWorld::size() const {
  return static_cast<int>(state_->boxes.size());
}

std::string LocalWorld::place_of(int rank) const {
  return state_->place_of(rank);
}

std::unique_ptr<Transport> LocalWorld::transport(int rank) {
  TRIREME_ASSERT(rank >= 0 && rank < size(), "a rank of this world");
  return std::make_unique<LocalTransport>(*state_, rank);
}

void LocalWorld::fail(int rank, std::exception_ptr cause) noexcept {
  state_->end(rank);
  if (state_->ended_by.load() != rank) return;
  const std::lock_guard lock(state_->mutex);
  if (!state_->cause) state_->cause = std::move(cause);
}

void LocalWorld::rethrow_cause() const {
  const std::lock_guard lock(state_->mutex);
  const int ended_by = state_->ended_by.load();
  if (state_->cause) state_->rethrow(ended_by);
  if (ended_by < 0) return;
  trireme::fail({.where = state_->name_of(ended_by),
                 .what = "it ended while others could still read what it had lent",
                 .rule = "each exchange is waited for"});
}

}  // namespace trireme::comm
