#pragma once
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/communicator.h"
#include "core/thread_pool.h"
#include "parallel/topology.h"

namespace trireme::evaluate {

/// The ranks that evaluate together, seen from one. Batches go to the data ranks in turn; the last
/// stage of a data rank knows what comes of a batch, and tells all when everything is done. All
/// ranks run the same evaluation.
class Team {
 public:
  /// One rank.
  Team() = default;
  /// world: all ranks of the topology, over memory of the host. World and stream outlive the team.
  Team(const parallel::Topology& topology, const parallel::Coordinates& at,
       comm::Communicator& world, device::Stream& stream)
      : topology_(topology), at_(at), world_(&world), stream_(&stream) {}

  [[nodiscard]] int data_ranks() const { return topology_.data(); }
  [[nodiscard]] int data_rank() const { return at_.data; }
  /// Whether this rank's model runs a batch.
  [[nodiscard]] bool takes(int64_t batch) const { return batch % data_ranks() == data_rank(); }

  /// What comes of batches, known to those who ran them, becomes known to all. batch_of: the batch
  /// to which a value belongs. A collective.
  template <class T>
  void share(std::span<T> values, FunctionRef<int64_t(size_t)> batch_of) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (topology_.world_size() == 1) return;
    std::string own;
    for (size_t i = 0; i < values.size(); ++i) {
      if (owner(batch_of(i)) != world_->rank()) continue;
      own.append(reinterpret_cast<const char*>(&values[i]), sizeof(T));
    }
    const std::vector<std::string> all = gather(own);
    std::vector<size_t> taken(all.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const auto from = static_cast<size_t>(owner(batch_of(i)));
      TRIREME_ASSERT(taken[from] + sizeof(T) <= all[from].size(), "all ranks evaluate the same");
      std::memcpy(&values[i], all[from].data() + taken[from], sizeof(T));
      taken[from] += sizeof(T);
    }
  }

 private:
  // The rank that tells what came of a batch.
  [[nodiscard]] int owner(int64_t batch) const;
  [[nodiscard]] std::vector<std::string> gather(const std::string& own) const;

  parallel::Topology topology_;
  parallel::Coordinates at_;
  comm::Communicator* world_ = nullptr;
  device::Stream* stream_ = nullptr;
};

}  // namespace trireme::evaluate
