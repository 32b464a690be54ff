#pragma once
#include <optional>
#include <string>
#include <vector>

#include "schedule/pipeline.h"

namespace trireme::schedule {

/// Throws, naming the action, unless every microbatch goes forward and then backward exactly once
/// per chunk (or only forward everywhere), forwards in ascending order of microbatches per chunk,
/// each input gradient before its weight gradient, each receive before what needs it and each send
/// behind what made it, both once, and a step stands last (before it at most one reduce_wait) where
/// there are backwards. where: how messages begin.
void check_rank(const Schedule& schedule, const std::string& where = "schedule");

/// The first weight gradient that a chunk adds out of the ascending order of microbatches, where
/// there is one: sums in another order have other last bits.
[[nodiscard]] std::optional<Action> sum_out_of_order(const Schedule& schedule);

/// For people: a line for each rank that adds gradients in another order than the built-in
/// schedules do.
[[nodiscard]] std::vector<std::string> notes_on_sums(const Pipeline& pipeline);

/// What the engine runs: check_rank(), and gradients are added in ascending order.
void validate(const Schedule& schedule);

/// All ranks together. Throws unless each rank keeps its rules, all of them train or none, every
/// message is sent and received in the same order on its channel, nothing is missing, and nothing
/// waits in a circle, with non-blocking sends that complete when received; a deadlock is shown as
/// its cycle. Where the pipeline has no messages, only the computing is looked at.
void validate(const Pipeline& pipeline);

}  // namespace trireme::schedule
