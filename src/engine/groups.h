#pragma once
#include <array>
#include <memory>

#include "comm/communicator.h"
#include "comm/port.h"
#include "core/ids.h"
#include "parallel/topology.h"

namespace trireme::engine {

/// The groups of ranks that one rank is in, for who exchanges with them. A value; the communicators
/// outlive it.
class Groups {
 public:
  /// Of a rank that runs alone: every group is itself.
  Groups(comm::Communicator& alone) {  // NOLINT(google-explicit-constructor): one is all groups
    TRIREME_ASSERT(alone.size() == 1, "a rank that runs alone has a group of its own");
    groups_.fill(&alone);
  }
  explicit Groups(const std::array<comm::Communicator*, kRankGroups>& groups) : groups_(groups) {}

  [[nodiscard]] comm::Communicator& operator[](RankGroup group) const {
    return *groups_[static_cast<size_t>(group)];
  }

 private:
  std::array<comm::Communicator*, kRankGroups> groups_ = {};
};

/// Makes and keeps the groups of a rank at its port, whose world has the topology's ranks.
class RankGroups {
 public:
  RankGroups(comm::Port& port, const parallel::Topology& topology);
  [[nodiscard]] Groups all() const;

 private:
  comm::Communicator& world_;
  std::array<std::unique_ptr<comm::Communicator>, kRankGroups> made_;
};

}  // namespace trireme::engine
