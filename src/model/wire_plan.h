#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "model/run_plan.h"
#include "model/sizes.h"

namespace trireme::model {

/// Bytes that are sent, by the group of ranks in which and by what they are: the complete list.
class WireBytes {
 public:
  [[nodiscard]] int64_t& operator()(RankGroup group, program::Traffic traffic) {
    return of_[static_cast<size_t>(group)][static_cast<size_t>(traffic)];
  }
  [[nodiscard]] int64_t operator()(RankGroup group, program::Traffic traffic) const {
    return of_[static_cast<size_t>(group)][static_cast<size_t>(traffic)];
  }
  [[nodiscard]] int64_t total() const;
  WireBytes& operator+=(const WireBytes& other);
  WireBytes& operator-=(const WireBytes& other);
  [[nodiscard]] friend WireBytes operator*(WireBytes bytes, int64_t times) {
    for (auto& group : bytes.of_) {
      for (int64_t& one : group) one *= times;
    }
    return bytes;
  }
  bool operator==(const WireBytes&) const = default;

 private:
  std::array<std::array<int64_t, program::kTraffics>, kRankGroups> of_ = {};
};

/// Bytes that one rank of a run sends, as a function of its plan.
///
/// What the ranks of a group send in a collective between them is known to the byte; who of them
/// sends how much depends on where buffers are cut (comm/order.h), on cache lines. So each rank is
/// given an equal share in whole bytes. The sum over the ranks of a group is exact.
class WirePlan {
 public:
  explicit WirePlan(const RunPlan& plan);

  /// Because of one action of a batch, of training or evaluation. What a message's receivers gather
  /// between them counts with the receive, and the buckets that the last backward starts with the
  /// wait for them.
  [[nodiscard]] const WireBytes& of(Mode mode, schedule::ActionKind kind, ChunkId chunk) const {
    return actions_[index(mode, kind, chunk)];
  }
  /// Of all actions of a batch.
  [[nodiscard]] WireBytes batch(Mode mode, const BatchPlan& batch) const;
  /// Of one time that every rank tells all others a few numbers, as behind each step.
  [[nodiscard]] int64_t gather() const { return gather_; }

 private:
  static constexpr size_t kKinds = static_cast<size_t>(schedule::ActionKind::step) + 1;
  [[nodiscard]] size_t index(Mode mode, schedule::ActionKind kind, ChunkId chunk) const {
    return (static_cast<size_t>(chunk.value) * 2 + (mode == Mode::train ? 0 : 1)) * kKinds +
           static_cast<size_t>(kind);
  }
  [[nodiscard]] WireBytes& at(Mode mode, schedule::ActionKind kind, int chunk) {
    return actions_[index(mode, kind, ChunkId{chunk})];
  }
  void plan_programs(const RunPlan& plan, Mode mode, const std::vector<PlacedProgram>& programs);
  void plan_messages(const RunPlan& plan, Mode mode, int chunk);
  void plan_step(const RunPlan& plan);

  std::vector<WireBytes> actions_;
  int64_t gather_ = 0;
};

}  // namespace trireme::model
