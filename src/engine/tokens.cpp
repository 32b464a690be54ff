#include "engine/tokens.h"

namespace trireme::engine {

Tokens::Tokens(const model::RunPlan& plan, const RankMemory& memory, Exchanges& exchanges,
               Staging& staging)
    : plan_(plan),
      memory_(memory),
      exchanges_(exchanges),
      staging_(staging),
      cuts_(static_cast<size_t>(plan.topology.pipeline()) + 1) {
  if (!plan.decode) return;
  cuts_.back() = plan.decode_shape.rows() * bytes_of(DType::i32);
  under_way_.resize(static_cast<size_t>(plan.decode_shape.groups));
}

std::byte* Tokens::memory_of(int group) const {
  return memory_.base(model::ArenaKind::decoded) + plan_.tokens_offset +
         plan_.tokens_stride * group;
}

void Tokens::start(int group, std::span<const int32_t> chosen, device::Stream& stream) {
  if (plan_.at.pipeline == plan_.topology.pipeline() - 1)
    staging_.copy_in(stream, memory_of(group), std::as_bytes(chosen));
  under_way_[static_cast<size_t>(group)] =
      exchanges_.start(RankGroup::pipeline, {.verb = comm::Verb::all_gather,
                                             .traffic = comm::Traffic::token,
                                             .buffer = memory_of(group),
                                             .bytes = cuts_.back(),
                                             .cuts = cuts_});
}

const std::byte* Tokens::wait(int group) {
  exchanges_.wait(under_way_[static_cast<size_t>(group)]);
  return memory_of(group);
}

}  // namespace trireme::engine
