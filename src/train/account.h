#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"
#include "model/wire_plan.h"
#include "train/together.h"
#include "train/trainer.h"

namespace trireme::train {

/// What the time of the steps went into, as a rank's host sees it; docs/tracing.md says how each is
/// measured. Together they are the whole time.
enum class TimeShare : uint8_t {
  compute,   ///< actions, less the exchanges below
  tensor,    ///< exchanges in the tensor group: started, and waited for
  pipeline,  ///< between stages, as long as messages take by themselves
  data,      ///< in the data group
  bubble,    ///< waiting for other stages beyond that
  other,     ///< between actions: reading data, what ranks tell each other of a step
};
inline constexpr size_t kTimeShares = 6;

[[nodiscard]] constexpr std::string_view name_of(TimeShare share) {
  constexpr std::array<std::string_view, kTimeShares> kNames = {"compute", "tensor", "pipeline",
                                                                "data",    "bubble", "other"};
  return kNames[static_cast<size_t>(share)];
}

/// One rank's account of a run.
struct RankAccount {
  std::array<double, kTimeShares> seconds = {};
  model::WireBytes sent;
  model::WireBytes planned;

  [[nodiscard]] double operator[](TimeShare share) const {
    return seconds[static_cast<size_t>(share)];
  }
  [[nodiscard]] double total_seconds() const;
  /// Of its time.
  [[nodiscard]] double fraction(TimeShare share) const;
};

[[nodiscard]] RankAccount account_of(const engine::Session& session, const Trainer& trainer);

/// The account of all ranks.
struct RunAccount {
  std::vector<RankAccount> ranks;  ///< by rank of the world
  double ideal_bubble = 0;         ///< (p - 1)/(v m), of the other time
  model::WireBytes sent;           ///< of all
  model::WireBytes planned;

  /// Whether what was sent in steps and evaluations is what was planned, to the byte.
  [[nodiscard]] bool bytes_are_as_planned() const;
  /// A short table; for one rank a line.
  [[nodiscard]] std::string text() const;
  /// A record for metrics.jsonl; docs/formats.md.
  [[nodiscard]] std::string json(int64_t iteration) const;
};

/// Called by all ranks, which get the same.
[[nodiscard]] RunAccount gather_account(const World& world, const engine::Session& session,
                                        const Trainer& trainer);

}  // namespace trireme::train
