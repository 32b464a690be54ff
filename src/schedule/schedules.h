#pragma once
#include "schedule/pipeline.h"

// The built-in orders. Each generator says what one rank computes, in order, and where it trains a
// step at the end; make_pipeline() puts the ranks and their messages together.

namespace trireme::schedule {

/// What a generator needs to know.
struct PipelineShape {
  int stages = 1;        ///< p
  int microbatches = 1;  ///< m
  int chunks = 1;        ///< v
  /// Of the interleaved order: so many microbatches go through a chunk before the next chunk has
  /// its turn; 0: p.
  int group = 0;

  [[nodiscard]] int group_size() const { return group > 0 ? group : stages; }
};

/// All forwards, then all backwards: m microbatches in flight. With chunks, in the order of the
/// interleaved schedule. Source: SC'21 section 2.2.1, figure 3.
[[nodiscard]] Schedule gpipe(const PipelineShape& shape, int pipeline_rank);

/// 1F1B, PipeDream-Flush: min(m, p - r - 1) warm-up forwards, one forward and one backward in turn,
/// the remaining backwards. At most p - r microbatches in flight. Throws a usage error for more
/// than one chunk. Source: SC'21 section 2.2.1, figure 4 (top).
[[nodiscard]] Schedule one_forward_one_backward(const PipelineShape& shape, int pipeline_rank);

/// Interleaved 1F1B over v chunks: min(m v, 2(p - r - 1) + (v - 1) N) warm-up forwards of a chunk,
/// N being the group, then in turn, then the remaining backwards. Every rank takes the same
/// sequence of (chunk, microbatch): group by group, in it chunk by chunk; backwards with the chunks
/// the other way round. Throws a usage error unless v >= 2, p <= N <= m and m mod N is 0 or at
/// least p (can_interleave): by default, m a multiple of p. Source: SC'21 section 2.2.2, figure 4
/// (bottom).
[[nodiscard]] Schedule interleaved(const PipelineShape& shape, int pipeline_rank);

/// All forwards, no backward, no step: evaluation. Equal on all ranks.
[[nodiscard]] Schedule forward_only(const PipelineShape& shape, int pipeline_rank = 0);

/// Whether the interleaved schedule exists for this p, m and group: p <= N <= m and m mod N is 0 or
/// at least p, without a group of one's own m mod p is 0.
[[nodiscard]] bool can_interleave(const PipelineShape& shape);

enum class ScheduleKind { gpipe, one_forward_one_backward, interleaved, forward_only };

/// One rank's schedule of a kind, without messages.
[[nodiscard]] Schedule make_schedule(ScheduleKind kind, const PipelineShape& shape,
                                     int pipeline_rank);
/// The schedules of all ranks with their messages.
[[nodiscard]] Pipeline make_pipeline(ScheduleKind kind, const PipelineShape& shape);

/// The same order with each backward as input gradient and, right behind it, weight gradient.
[[nodiscard]] Schedule split_backwards(const Schedule& schedule);

}  // namespace trireme::schedule
