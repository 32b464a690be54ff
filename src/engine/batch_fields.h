#pragma once
#include "data/batches.h"
#include "engine/session.h"

namespace trireme::engine {

/// Copies a microbatch's fields to the device; they may be filled again behind it.
void write_fields(Session& session, MicrobatchId microbatch, const data::BatchFields& fields);

}  // namespace trireme::engine
