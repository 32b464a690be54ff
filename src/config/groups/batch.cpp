#include "config/groups/batch.h"

#include "core/format.h"

namespace trireme::config {
namespace {

constexpr int64_t kLargestBatch = int64_t{1} << 30;
// Random numbers count samples with 40 bits (docs/formats.md).
constexpr int64_t kLargestSamples = int64_t{1} << 40;

}  // namespace

const Group& BatchOptions::group() {
  using O = BatchOptions;
  static const Group table = {
      "Batch",
      "how much is trained on, in which pieces",
      {
          field(&O::micro_batch_size, {.name = "micro-batch-size",
                                       .help = "microbatch of one pipeline, b",
                                       .unit = "sequences",
                                       .range = between(1, kLargestBatch),
                                       .required = true}),
          field(&O::global_batch_size, {.name = "global-batch-size",
                                        .help = "batch of one step over all ranks, B",
                                        .unit = "sequences",
                                        .otherwise = "micro-batch-size x data-parallel size",
                                        .range = between(1, kLargestBatch)}),
          field(&O::train_iters, {.name = "train-iters",
                                  .help = "steps to train, those before a resume included",
                                  .unit = "iterations",
                                  .range = at_least(1),
                                  .required = true}),
          field(&O::seed, {.name = "seed",
                           .help = "of initial weights, dropout and data order",
                           .range = between(0, 4294967295)}),
      }};
  return table;
}

std::optional<Conflict> BatchOptions::validate() const {
  const int64_t batch = global_batch_size.value_or(micro_batch_size);
  if (train_iters > kLargestSamples / batch) {
    return Conflict{.names = {"train-iters", "global-batch-size"},
                    .what = format("train-iters {} of {} sequences each", train_iters, batch),
                    .rule = format("a run has at most {} sequences", kLargestSamples),
                    .remedy = format("use train-iters {} or less", kLargestSamples / batch)};
  }
  if (batch % micro_batch_size == 0) return std::nullopt;
  const int64_t below = batch / micro_batch_size * micro_batch_size;
  const int64_t above = below + micro_batch_size;
  return Conflict{.names = {"global-batch-size", "micro-batch-size"},
                  .what = format("global-batch-size {} is not a multiple of micro-batch-size {}",
                                 batch, micro_batch_size),
                  .rule = "a global batch consists of whole microbatches",
                  .remedy = below > 0 ? format("use global-batch-size {} or {}", below, above)
                                      : format("use global-batch-size {}", above)};
}

}  // namespace trireme::config
