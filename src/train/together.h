#pragma once
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/thread_pool.h"

// Work outside of steps that several ranks share, such as a save: it succeeds for all or for none.

namespace trireme::train {

/// All ranks of a run over memory of the host, and a stream to order their exchanges by. A view.
struct World {
  comm::Communicator& group;
  device::Stream& stream;

  [[nodiscard]] int size() const { return group.size(); }
  [[nodiscard]] bool is_first() const { return group.rank() == 0; }
};

/// Each rank does its part, in which nothing is exchanged, and all learn what every part came to,
/// by rank. Where the part of some rank throws an Error every rank throws one, with the same words:
/// the first such rank, what it said, and which others failed beside it. A rank alone throws its
/// own. A collective.
std::vector<std::string> together(const World& world, FunctionRef<std::string()> part);

/// As in "rank 3", "ranks 0-2 and 4"; ascending.
[[nodiscard]] std::string ranks_text(const std::vector<int>& ranks);

}  // namespace trireme::train
