#include "comm/port.h"

#include <numeric>

#include "comm/group.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::comm {
namespace {

// Inside it, what others lent may be read.
class Visit {
 public:
  explicit Visit(Transport& transport) : transport_(transport) { transport.enter(); }
  ~Visit() { transport_.leave(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  Transport& transport_;
};

}  // namespace

Port::Port(std::unique_ptr<Transport> transport, Patience patience)
    : transport_(std::move(transport)), wait_(patience) {
  std::vector<int> all(static_cast<size_t>(size()));
  std::iota(all.begin(), all.end(), 0);
  world_ = std::make_unique<GroupCommunicator>(*this, "world", std::move(all));
}

Port::~Port() = default;

Communicator& Port::world() {
  return *world_;
}

std::unique_ptr<Communicator> Port::make_group(std::string name, std::vector<int> ranks) {
  return std::make_unique<GroupCommunicator>(*this, std::move(name), std::move(ranks));
}

void Port::progress() {
  if (!more_ && !transport_->news()) return;
  const Visit visit(*transport_);
  more_ = false;
  for (GroupCommunicator* group : groups_) {
    if (!group->idle() && group->step()) more_ = true;
  }
}

void Port::wait(FunctionRef<bool()> done, FunctionRef<std::string()> awaited) {
  try {
    wait_.until(
        [&] {
          progress();
          return done();
        },
        [&](std::chrono::nanoseconds most) {
          if (!more_) transport_->rest(most);
        },
        awaited);
  } catch (const Error&) {
    transport_->note_wait(format("in {} for {}", wait_.action(), awaited()));
    throw;
  }
}

void Port::meet(device::Stream& stream) {
  std::vector<std::byte> here(static_cast<size_t>(size()));
  std::vector<int64_t> cuts(here.size() + 1);
  std::iota(cuts.begin(), cuts.end(), 0);
  try {
    world_->wait(world_->start_all_gather(stream, here.data(), static_cast<int64_t>(here.size()),
                                          Traffic::agreement, cuts),
                 stream);
  } catch (...) {
    world_->withdraw();  // from a buffer that goes here
    throw;
  }
}

void Port::finish(device::Stream& stream) {
  // A message that strays or comes twice was sent before its sender came here.
  meet(stream);
  {
    const Visit visit(*transport_);
    // Who has looked may already be at the second meeting; the first one saw what is wrong there.
    const Message* message = transport_->left_over(world_->number(), kGatherLane);
    if (message != nullptr) {
      fail({.where = format("from {} to {}", transport_->name_of(message->header.from),
                            transport_->name_of(rank())),
            .what = format("{}, which nobody asked for", text_of(message->header)),
            .rule = "what is sent is received",
            .remedy = "report this, with the program's options"});
    }
  }
  // Nobody leaves before all have looked.
  meet(stream);
}

}  // namespace trireme::comm
