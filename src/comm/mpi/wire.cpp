#include "comm/mpi/wire.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <type_traits>

#include "comm/mpi/build_id.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::comm::mpi {
namespace {

static_assert(std::is_trivially_copyable_v<Frame>, "a frame is sent as it lies");

constexpr int32_t kFrameTag = 0;
constexpr int64_t kHead = offsetof(Frame, inside);

// FNV-1a: differs where the ids do, all but surely.
uint64_t digest(std::string_view text) {
  uint64_t value = 0xcbf29ce484222325u;
  for (const char letter : text)
    value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return value;
}

}  // namespace

Wire::Wire(const Table& table) : table_(table), build_(digest(build_id())) {
  Failure failure = {};
  if (table.open(&mpi_, &place_, &failure) != Status::done) {
    fail({.where = "MPI",
          .what = failure.words,
          .rule = "the ranks of a job begin together",
          .remedy = "see what MPI printed, and try mpirun with a program of one line (hostname)"});
  }
  leaving_.resize(static_cast<size_t>(size()));
  for (size_t place = 0; place < kAhead; ++place) expect(place);
}

void Wire::check(Status status, const Failure& failure, int peer) const {
  if (status == Status::done) return;
  fail({.where = peer < 0 ? "MPI" : format("MPI, with rank {}", peer),
        .what = failure.words,
        .remedy = "see what MPI printed, and whether the other hosts can be reached"});
}

Wire::Transfer& Wire::transfer(int32_t request) {
  const auto place = static_cast<size_t>(request);
  if (transfers_.size() <= place) transfers_.resize(place + 1);
  return transfers_[place] = {};
}

void Wire::expect(size_t place) {
  ahead_[place].peer = -1;
  int32_t request = 0;
  Failure failure = {};
  check(table_.receive(mpi_, kAnyPeer, kFrameTag, &ahead_[place].frame, sizeof(Frame), &request,
                       &failure),
        failure, -1);
  transfer(request).ahead = place;
  expected_[place] = request;
}

void Wire::send_frame(int peer, const Frame& frame, int64_t inside) {
  if (free_.empty()) free_.push_back(&frames_.emplace_back());
  Frame* const own = free_.back();
  free_.pop_back();
  std::copy_n(reinterpret_cast<const std::byte*>(&frame), kHead + inside,
              reinterpret_cast<std::byte*>(own));
  own->build = build_;
  int32_t request = 0;
  Failure failure = {};
  check(table_.send(mpi_, peer, kFrameTag, own, kHead + inside, &request, &failure), failure, peer);
  transfer(request).frame = own;
  ++sending_;
}

void Wire::send(int peer, int64_t tag, const std::byte* data, int64_t bytes, int& open) {
  TRIREME_ASSERT(tag > 0 && tag <= place_.largest_tag, "MPI has this tag");
  for (int64_t done = 0; done < bytes; done += kMostBytes) {
    int32_t request = 0;
    Failure failure = {};
    check(table_.send(mpi_, peer, static_cast<int32_t>(tag), data + done,
                      std::min(kMostBytes, bytes - done), &request, &failure),
          failure, peer);
    transfer(request).open = &open;
    ++open;
    ++sending_;
  }
}

void Wire::receive(int peer, int64_t tag, std::byte* data, int64_t bytes, int& open) {
  for (int64_t done = 0; done < bytes; done += kMostBytes) {
    int32_t request = 0;
    Failure failure = {};
    check(table_.receive(mpi_, peer, static_cast<int32_t>(tag), data + done,
                         std::min(kMostBytes, bytes - done), &request, &failure),
          failure, peer);
    transfer(request).open = &open;
    ++open;
  }
}

bool Wire::poll() {
  std::array<Completion, 64> completions;
  int32_t count = 0;
  Failure failure = {};
  check(table_.poll(mpi_, completions.data(), static_cast<int32_t>(completions.size()), &count,
                    &failure),
        failure, -1);
  for (const Completion& completion : std::span(completions).first(static_cast<size_t>(count))) {
    const Transfer& through = transfers_[static_cast<size_t>(completion.request)];
    if (through.ahead < kAhead) {
      ahead_[through.ahead].peer = completion.peer;
      continue;
    }
    if (completion.peer < 0) --sending_;
    if (through.frame != nullptr) free_.push_back(through.frame);
    if (through.open != nullptr) --*through.open;
  }
  return count > 0;
}

const Frame* Wire::front(int& peer) {
  const Arrival& oldest = ahead_[next_];
  if (oldest.peer < 0) return nullptr;
  peer = oldest.peer;
  if (oldest.frame.build != build_) {
    fail({.where = format("rank {}", peer),
          .what = "its program is of another build than this rank's",
          .rule = "all ranks run the same build",
          .remedy = "put the same program, and the trireme_mpi.so beside it, on all hosts"});
  }
  return &oldest.frame;
}

void Wire::pop() {
  expect(next_);
  next_ = (next_ + 1) % kAhead;
}

void Wire::close() {
  Failure failure = {};
  for (const int32_t request : expected_)
    check(table_.cancel(mpi_, request, &failure), failure, -1);
  check(table_.close(mpi_, &failure), failure, -1);
}

void Wire::abort(int exit_status) {
  table_.abort(mpi_, exit_status);
  std::abort();  // the table's does not return
}

}  // namespace trireme::comm::mpi
