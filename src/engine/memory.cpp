#include "engine/memory.h"

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::engine {

RankMemory::RankMemory(device::Device& device, const model::MemoryPlan& plan) {
  const int64_t available = device.available_bytes();
  if (plan.total() > available) {
    fail({.where = "memory",
          .what = format("this rank needs {}, {} has {}\n{}",
                         bytes_text(static_cast<double>(plan.total())), device.name(),
                         bytes_text(static_cast<double>(available)), plan.text()),
          .rule = "everything is allocated before the first step",
          .remedy = "use a smaller --micro-batch-size, --seq-length or model"});
  }
  for (int i = 0; i < model::kArenas; ++i) {
    arenas_[static_cast<size_t>(i)] = device::Arena(device, plan.bytes[static_cast<size_t>(i)]);
  }
}

}  // namespace trireme::engine
