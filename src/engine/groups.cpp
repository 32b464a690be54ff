#include "engine/groups.h"

#include <string>
#include <vector>

namespace trireme::engine {

RankGroups::RankGroups(comm::Port& port, const parallel::Topology& topology)
    : world_(port.world()) {
  topology.require_world_size(port.size());
  for (size_t g = 0; g < kRankGroups; ++g) {
    const auto group = static_cast<RankGroup>(g);
    if (group == RankGroup::world) continue;
    std::vector<int> ranks;
    for (const Rank rank : topology.group(group, Rank{port.rank()})) ranks.push_back(rank.value);
    made_[g] = port.make_group(std::string(name_of(group)), std::move(ranks));
  }
}

Groups RankGroups::all() const {
  std::array<comm::Communicator*, kRankGroups> groups = {};
  for (size_t g = 0; g < kRankGroups; ++g) groups[g] = made_[g] ? made_[g].get() : &world_;
  return Groups(groups);
}

}  // namespace trireme::engine
