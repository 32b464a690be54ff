#pragma once
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi/abi.h"
#include "comm/mpi/buffers.h"
#include "comm/transport.h"

namespace trireme::comm::mpi {

enum class FrameKind : uint32_t {
  message,  ///< what a message is; its bytes are in the frame, follow by themselves, or are held
  fetch,    ///< the receiver has room for a message's bytes
  receipt,  ///< a message was received
  end,      ///< the sender has failed, so all end
  leave,    ///< to rank 0: the sender is through; from rank 0: all are
};

/// What ranks tell each other beside the bytes of messages. One layout for one build id.
struct Frame {
  /// A message with at most so many bytes travels in its frame.
  static constexpr int64_t kMostInside = 512;

  uint64_t build = 0;  ///< digest of build_id()
  FrameKind kind = FrameKind::message;
  int32_t group = 0;     ///< of a message: the queue that it was sent along,
  int32_t lane = 0;      ///< as its receiver sees it
  uint32_t follows = 0;  ///< of a message: its bytes come by themselves
  Ticket ticket = 0;     ///< the message's, at its sender
  Header header = {};    ///< of a message
  std::array<std::byte, kMostInside> inside = {};
};

/// A process's MPI with every call checked: frames, which come in the order in which a peer sent
/// them, and transfers of bytes. What it needs is set aside when it is made, but for frames that
/// are being sent. Used by one thread. After stop() it touches nothing that was lent to it.
class Wire {
 public:
  /// MPI_Init. The table outlives it.
  explicit Wire(const Table& table);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  [[nodiscard]] int rank() const { return place_.rank; }
  [[nodiscard]] int size() const { return place_.size; }
  [[nodiscard]] const char* library() const { return place_.library; }
  [[nodiscard]] const char* host() const { return place_.host; }
  [[nodiscard]] int64_t largest_tag() const { return place_.largest_tag; }

  /// Sends a copy of the frame, with so many bytes inside.
  void send_frame(int peer, const Frame& frame, int64_t inside = 0);
  /// Sends or receives bytes beside the frames. Adds 1 to `open` for each of the transfers that it
  /// takes and takes 1 away when one is through, so open stays where it is until it is 0 again.
  /// tag > 0, not in use for another transfer between the two.
  void send(int peer, int64_t tag, const std::byte* data, int64_t bytes, int& open);
  void receive(int peer, int64_t tag, std::byte* data, int64_t bytes, int& open);

  /// Moves on what is under way; whether anything was through.
  bool poll();
  /// The oldest frame that came and was not popped, and its sender; null where there is none.
  [[nodiscard]] const Frame* front(int& peer);
  void pop();

  /// Memory for bytes that are received: stays when a transport ends with the world, while MPI may
  /// still write to it.
  [[nodiscard]] Buffers& buffers() { return buffers_; }

  /// What was sent left, so that nothing of it is under way.
  [[nodiscard]] bool all_sent() const { return sending_ == 0; }
  /// MPI_Finalize, when all ranks come here. Everything that was sent must have left.
  void close();

  /// A rank is through, and said so. leaving(): those that did.
  void note_leave(int peer) { leaving_[static_cast<size_t>(peer)] = true; }
  [[nodiscard]] const std::vector<bool>& leaving() const { return leaving_; }

  /// A message came that this rank, which is through, never asked for.
  void note_unasked(const Header& header) { unasked_ = header; }
  [[nodiscard]] const std::optional<Header>& unasked() const { return unasked_; }

  /// The world is at its end: this rank, or another one, has failed.
  void stop(int failed) { stopped_by_ = failed; }
  [[nodiscard]] int stopped_by() const { return stopped_by_; }  ///< -1: none
  /// Ends all processes of the job. Does not return.
  [[noreturn]] void abort(int exit_status);

 private:
  static constexpr size_t kAhead = 16;  // frames that may come between two polls without waiting

  struct Transfer {
    int* open = nullptr;     // of bytes
    Frame* frame = nullptr;  // that is sent
    size_t ahead = kAhead;   // place of a frame that is received
  };
  struct Arrival {
    Frame frame;
    int peer = -1;  // -1: it is not here
  };

  void expect(size_t place);
  Transfer& transfer(int32_t request);
  void check(Status status, const Failure& failure, int peer) const;

  const Table& table_;
  Mpi* mpi_ = nullptr;
  Place place_ = {};
  int stopped_by_ = -1;
  std::vector<bool> leaving_;  // by rank
  std::optional<Header> unasked_;
  std::vector<Transfer> transfers_;  // by request
  std::array<Arrival, kAhead> ahead_;
  std::array<int32_t, kAhead> expected_ = {};  // requests of ahead_
  size_t next_ = 0;                            // of ahead_
  std::deque<Frame> frames_;                   // that are sent
  std::vector<Frame*> free_;
  int sending_ = 0;
  uint64_t build_ = 0;
  Buffers buffers_;
};

}  // namespace trireme::comm::mpi
