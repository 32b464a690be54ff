#include "evaluate/team.h"

#include "comm/gather_text.h"

namespace trireme::evaluate {

int Team::owner(int64_t batch) const {
  return topology_
      .rank({.pipeline = topology_.pipeline() - 1,
             .tensor = 0,
             .data = static_cast<int>(batch % data_ranks())})
      .value;
}

std::vector<std::string> Team::gather(const std::string& own) const {
  return comm::gather_texts(*world_, *stream_, own);
}

}  // namespace trireme::evaluate
