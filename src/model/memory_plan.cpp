#include "model/memory_plan.h"

#include <numeric>

#include "core/format.h"
#include "core/table.h"

namespace trireme::model {

std::string_view name_of(ArenaKind kind) {
  switch (kind) {
    case ArenaKind::parameters:
      return "parameters";
    case ArenaKind::gradients:
      return "gradients";
    case ArenaKind::first_moments:
      return "optimizer, first moments";
    case ArenaKind::second_moments:
      return "optimizer, second moments";
    case ArenaKind::activations:
      return "activations";
    case ArenaKind::temporaries:
      return "temporaries";
    case ArenaKind::workspace:
      return "workspace";
    case ArenaKind::received_activations:
      return "received activations";
    case ArenaKind::sent_activations:
      return "sent activations";
    case ArenaKind::received_gradients:
      return "received gradients";
    case ArenaKind::sent_gradients:
      return "sent gradients";
    case ArenaKind::batch:
      return "batch fields";
    case ArenaKind::scalars:
      return "step scalars";
    case ArenaKind::cache:
      return "key/value cache";
    case ArenaKind::decoded:
      return "decoded logits and tokens";
  }
  return "?";
}

int64_t MemoryPlan::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

namespace {

std::string mib_text(int64_t bytes) {
  return format("{:.1f}", static_cast<double>(bytes) / (1 << 20));
}

// The activations by chunk, and what evaluation needs beyond them, since it works in their place.
void activation_rows(const MemoryPlan& memory, TextTable& table) {
  int64_t rest = memory[ArenaKind::activations];
  for (size_t chunk = 0; chunk < memory.chunks.size(); ++chunk) {
    const ChunkActivations& activations = memory.chunks[chunk];
    table.row({format("activations{}, {} microbatch{} in flight, {} MiB each",
                      memory.chunks.size() == 1 ? "" : format(" of chunk {}", chunk),
                      activations.in_flight, activations.in_flight == 1 ? "" : "es",
                      mib_text(activations.slot_bytes)),
               mib_text(activations.bytes())});
    rest -= activations.bytes();
  }
  if (rest > 0) table.row({"evaluation, in the place of activations", mib_text(rest)});
}

}  // namespace

std::string MemoryPlan::text() const {
  TextTable table(
      {{"memory of this rank", TextTable::Align::left}, {"MiB", TextTable::Align::right}});
  for (int i = 0; i < kArenas; ++i) {
    const auto kind = static_cast<ArenaKind>(i);
    if (kind == ArenaKind::activations) {
      activation_rows(*this, table);
    } else if ((*this)[kind] > 0) {
      const char* const more = kind == ArenaKind::workspace ? ", where products pack weights" : "";
      table.row({format("{}{}", name_of(kind), more), mib_text((*this)[kind])});
    }
  }
  table.rule();
  table.row({"total", mib_text(total())});
  return table.text(2);
}

}  // namespace trireme::model
