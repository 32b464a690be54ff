#pragma once
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "comm/transport.h"

namespace trireme::comm {

/// What ranks that are threads of one process share. A message is an entry in its receiver's box;
/// the receiver reads the bytes where the sender has them, so they are copied once, or joined
/// without a copy. A box has a lock, held for an entry or a swap; no thread but the ranks' own.
class LocalWorld {
 public:
  /// places: of each rank, as in "p1 t0 d1", for messages; or none.
  explicit LocalWorld(int ranks, std::vector<std::string> places = {});
  ~LocalWorld();
  LocalWorld(const LocalWorld&) = delete;
  LocalWorld& operator=(const LocalWorld&) = delete;

  [[nodiscard]] int size() const;
  /// A rank's end, to be made once. The world outlives it.
  [[nodiscard]] std::unique_ptr<Transport> transport(int rank);

  /// A rank ends with an exception, so all do: the others throw when they look at their transport
  /// next. The first one is the cause; a rank that follows another's failure is none.
  void fail(int rank, std::exception_ptr cause) noexcept;
  /// As messages of a rank begin, "rank 5 = p1 t0 d1".
  [[nodiscard]] std::string place_of(int rank) const;
  /// Throws the cause as an Error of its rank; returns if there is none. Where a rank's patience
  /// ended, with what each of the others waited for so far.
  void rethrow_cause() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace trireme::comm
