#pragma once
#include <algorithm>
#include <vector>

#include "schedule/pipeline.h"

namespace trireme::schedule::testing {

/// Without messages, reduce_wait and step: what a user may write down.
inline Pipeline computing_of(const Pipeline& pipeline) {
  Pipeline bare = pipeline;
  for (std::vector<Action>& actions : bare.ranks) {
    actions.erase(std::remove_if(actions.begin(), actions.end(),
                                 [](const Action& action) { return !is_computing(action.kind); }),
                  actions.end());
  }
  return bare;
}

}  // namespace trireme::schedule::testing
