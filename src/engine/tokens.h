#pragma once
#include <span>
#include <vector>

#include "engine/exchanges.h"
#include "engine/memory.h"
#include "engine/staging.h"
#include "model/run_plan.h"

namespace trireme::engine {

/// What decoding has chosen, on its way from the last stage to all, for each group of places.
/// Allocates nothing after construction.
class Tokens {
 public:
  /// All outlive it.
  Tokens(const model::RunPlan& plan, const RankMemory& memory, Exchanges& exchanges,
         Staging& staging);
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  /// All ranks start the same groups in the same order. chosen: at most a token for each row;
  /// copied on the last stage, not read on the others.
  void start(int group, std::span<const int32_t> chosen, device::Stream& stream);
  /// Of a group that was started: puts what follows on the stream behind the tokens, and says
  /// where in the device's memory they are.
  [[nodiscard]] const std::byte* wait(int group);

 private:
  [[nodiscard]] std::byte* memory_of(int group) const;

  const model::RunPlan& plan_;
  const RankMemory& memory_;
  Exchanges& exchanges_;
  Staging& staging_;
  std::vector<int64_t> cuts_;        // all of it is the last stage's
  std::vector<UnderWay> under_way_;  // [group]
};

}  // namespace trireme::engine
