#include "engine/ledger.h"

namespace trireme::engine {

using model::Mode;
using model::WireBytes;
using program::Traffic;

WireBytes bytes_sent(const Groups& groups) {
  WireBytes bytes;
  for (size_t g = 0; g < kRankGroups; ++g) {
    const auto group = static_cast<RankGroup>(g);
    const comm::BytesSent sent = groups[group].bytes_sent();
    for (size_t k = 0; k < program::kTraffics; ++k)
      bytes(group, static_cast<Traffic>(k)) = sent[static_cast<Traffic>(k)];
  }
  return bytes;
}

Ledger::Ledger(const model::RunPlan& plan) : done_(plan.chunks.size()) {}

WireBytes Ledger::planned(const model::RunPlan& plan) const {
  const model::WirePlan wire(plan);
  WireBytes bytes;
  for (size_t chunk = 0; chunk < done_.size(); ++chunk) {
    for (const Mode mode : {Mode::train, Mode::evaluate}) {
      const auto& done = done_[chunk][mode == Mode::train ? 0 : 1];
      for (size_t kind = 0; kind < kKinds; ++kind) {
        bytes += wire.of(mode, static_cast<schedule::ActionKind>(kind),
                         ChunkId{static_cast<int32_t>(chunk)}) *
                 done[kind];
      }
    }
  }
  for (size_t k = 0; k < program::kTraffics; ++k)
    bytes(RankGroup::world, static_cast<Traffic>(k)) += gathers_[k] * wire.gather();
  return bytes;
}

}  // namespace trireme::engine
