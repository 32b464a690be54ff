#pragma once
#include <array>
#include <vector>

#include "engine/exchanges.h"
#include "engine/executor.h"
#include "model/run_plan.h"

namespace trireme::engine {

/// What goes between the stages of a pipeline, as one rank sees it: starts the sends and receives
/// of its schedule, and waits where the schedule's rules say so. With scatter/gather each tensor
/// rank sends its part of a boundary, and the receivers gather the parts (SC'21 section 4.1).
/// Allocates nothing once a batch of its size was begun.
class Messages {
 public:
  Messages(const model::RunPlan& plan, const RankMemory& memory, Exchanges& exchanges);
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  /// The actions that follow are of this batch; every receive of the one before was used.
  void start(const model::BatchPlan& batch);
  void receive(const schedule::Action& action);
  void send(const schedule::Action& action);
  /// In front of a computing: what it needs is here, and the buffers it writes are free.
  void before(const schedule::Action& computing);
  /// Every send is complete.
  void finish();

  /// Which buffers a computing reads and writes.
  void put_buffers(const schedule::Action& computing, Slots& slots) const;

  /// Without a schedule, as in decoding: bytes of the one buffer, at once. The send is complete
  /// when finish() says so.
  void receive_activation_now(int64_t bytes);
  void send_activation_now(int64_t bytes);

 private:
  // One kind of message on its way in or out.
  struct Way {
    model::ArenaKind arena;
    schedule::MessageSlots schedule::BufferAssignment::*slots;
    comm::Traffic traffic;
    bool from_behind;  // the other end is the rank before this one
  };
  static const Way& way_of(schedule::ActionKind kind);
  [[nodiscard]] int peer_of(const Way& way) const;
  [[nodiscard]] int slot(const Way& way, const schedule::Action& action) const;
  [[nodiscard]] std::byte* buffer(const Way& way, int slot) const;
  [[nodiscard]] UnderWay& receipt(const Way& way, const schedule::Action& action);
  [[nodiscard]] comm::Label label(schedule::ActionKind kind, const schedule::Action& action) const;
  // This rank's part of a boundary: begin and end, in bytes.
  [[nodiscard]] std::pair<int64_t, int64_t> part(int64_t bytes) const;
  // A send or a receive of this rank's part of a buffer.
  [[nodiscard]] UnderWay start(comm::Verb verb, const Way& way, std::byte* buffer, int64_t bytes,
                               const comm::Label& what);
  void complete_receive(UnderWay& receipt, std::byte* buffer, int64_t bytes);
  void complete_send(UnderWay& sending);

  const model::RunPlan& plan_;
  const RankMemory& memory_;
  Exchanges& exchanges_;
  int64_t boundary_bytes_ = 0;  // s b h, of a microbatch
  const model::BatchPlan* batch_ = nullptr;
  std::vector<UnderWay> received_activations_;  // [chunk][microbatch]
  std::vector<UnderWay> received_gradients_;
  std::array<UnderWay, schedule::kSendBuffers> sent_activations_ = {};  // by buffer
  std::array<UnderWay, schedule::kSendBuffers> sent_gradients_ = {};
  int receiving_ = 0;
};

}  // namespace trireme::engine
