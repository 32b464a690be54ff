#pragma once
#include "schedule/pipeline.h"

namespace trireme::schedule {

/// Writes out what the ranks' computing implies: each boundary between two ranks is sent right
/// behind the computing that made it, and reduce_wait and step stand at the end where they are left
/// out. Receives are posted early: at the latest one computing ahead of the one that needs the
/// message, and as early as the message would come if a backward took twice a forward and messages
/// no time. So a sender never waits for a receive in a run like that, nothing can lock up whatever
/// the times are, and the buffers of a channel stay few (assign_buffers).
///
/// A pipeline that has messages is only given reduce_wait and step. Throws what validate() throws.
[[nodiscard]] Pipeline insert_communication(Pipeline pipeline);

}  // namespace trireme::schedule
