#include "train/fit.h"

#include <optional>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::train {
namespace {

std::string text_of(int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

// What a run with these sizes needs; the batch of a step stays as it is.
int64_t bytes_of(model::RunRequest request, int64_t sequences, int64_t length) {
  request.batch.microbatches *= static_cast<int>(request.batch.sequences / sequences);
  request.batch.sequences = sequences;
  request.smaller_batches.clear();
  request.order.reset();  // of another number of microbatches
  request.shape.length = length;
  return model::plan_run(request).memory.total();
}

// Options that would fit, as in "--micro-batch-size 2 (1.3 GiB)".
std::optional<std::string> what_fits(const model::RunRequest& request, int64_t available) {
  const int64_t b = request.batch.sequences;
  const int64_t length = request.shape.length;
  for (int64_t less = b - 1; less >= 1; --less) {
    if (b % less != 0) continue;
    const int64_t bytes = bytes_of(request, less, length);
    if (bytes <= available) return format("--micro-batch-size {} ({})", less, text_of(bytes));
  }
  for (int64_t shorter = length / 2; shorter >= 16; shorter /= 2) {
    const int64_t bytes = bytes_of(request, 1, shorter);
    if (bytes <= available) {
      return format("--micro-batch-size 1 and --seq-length {} ({})", shorter, text_of(bytes));
    }
  }
  return std::nullopt;
}

}  // namespace

void require_memory(const model::RunRequest& request, const model::RunPlan& plan, int64_t bytes,
                    const device::Device& device) {
  const int64_t available = device.available_bytes();
  if (bytes <= available) return;
  // The others need about as much in proportion.
  const double share = static_cast<double>(plan.memory.total()) / static_cast<double>(bytes);
  const std::optional<std::string> fits =
      what_fits(request, static_cast<int64_t>(share * static_cast<double>(available)));
  using model::ArenaKind;
  const int64_t state = plan.memory[ArenaKind::parameters] + plan.memory[ArenaKind::gradients] +
                        plan.memory[ArenaKind::first_moments] +
                        plan.memory[ArenaKind::second_moments];
  fail({.where = "memory",
        .what = format(
            "this rank needs {}{}, {} has {}\n{}", text_of(plan.memory.total()),
            bytes == plan.memory.total() ? "" : format(", all of this machine {}", text_of(bytes)),
            device.name(), text_of(available), plan.memory.text()),
        .rule = "everything is allocated before the first step",
        .remedy = fits ? format("this would fit: {}", *fits)
                       : format("no --micro-batch-size or --seq-length would fit: parameters, "
                                "gradients and optimizer alone are {}; use a smaller model",
                                text_of(state))});
}

}  // namespace trireme::train
