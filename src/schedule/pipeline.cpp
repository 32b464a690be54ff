#include "schedule/pipeline.h"

#include <algorithm>

#include "core/format.h"

namespace trireme::schedule {

bool Pipeline::trains() const {
  for (int rank = 0; rank < stages(); ++rank) {
    if (of(rank).trains()) return true;
  }
  return false;
}

bool Pipeline::has_messages() const {
  for (const std::vector<Action>& actions : ranks) {
    if (std::any_of(actions.begin(), actions.end(), [](const Action& action) {
          return is_send(action.kind) || is_receive(action.kind);
        })) {
      return true;
    }
  }
  return false;
}

std::optional<Place> Pipeline::neighbour(const Place& at, int distance) const {
  const int stage = at.chunk.value * stages() + at.rank + distance;
  if (stage < 0 || stage >= stages() * chunks) return std::nullopt;
  return Place{.rank = stage % stages(), .chunk = ChunkId{stage / stages()}};
}

std::string Channel::text() const {
  return format("{} from rank {} to rank {}", gradient ? "gradients" : "activations", from, to);
}

Channel channel_of(const Pipeline& pipeline, int rank, ActionKind kind) {
  const int p = pipeline.stages();
  const bool gradient = kind == ActionKind::send_gradient || kind == ActionKind::receive_gradient;
  // Activations go up the ring of ranks, gradients down.
  const int other = (rank + (gradient == is_send(kind) ? p - 1 : 1)) % p;
  return is_send(kind) ? Channel{.gradient = gradient, .from = rank, .to = other}
                       : Channel{.gradient = gradient, .from = other, .to = rank};
}

}  // namespace trireme::schedule
