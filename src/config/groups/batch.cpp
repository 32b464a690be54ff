#include "config/groups/batch.h"

#include <charconv>

#include "core/format.h"
#include "core/nearest_values.h"

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
      "how much is trained on, in which pieces, and when a run ends",
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
          field(
              &O::train_iters,
              {.name = "train-iters",
               .help =
                   "length of the run, iterations before a resume included; or give train-samples",
               .unit = "iterations",
               .otherwise = "given by train-samples",
               .range = at_least(1)}),
          field(&O::train_samples, {.name = "train-samples",
                                    .help = "length of the run, instead of train-iters; the last "
                                            "batch that fits is the last",
                                    .unit = "sequences",
                                    .otherwise = "given by train-iters",
                                    .range = between(1, kLargestSamples)}),
          field(&O::rampup_batch_size,
                {.name = "rampup-batch-size",
                 .help = "START INCREMENT SAMPLES: begin with batches of START sequences and grow "
                         "by INCREMENT, evenly over so many samples, to global-batch-size",
                 .otherwise = "no growth"}),
          field(&O::step_batch_size_schedule,
                {.name = "step-batch-size-schedule",
                 .help = "TOKENS:SEQUENCES ..., in one word: from so many tokens on, batches of so "
                         "many sequences, as in \"0:768 250B:1536\"",
                 .otherwise = "no growth"}),
          field(&O::seed, {.name = "seed",
                           .help = "seed of initial weights, dropout and data order",
                           .range = between(0, 4294967295)}),
          field(&O::exit_interval,
                {.name = "exit-interval",
                 .help = "end the run, with a save, behind an iteration that is a multiple of this",
                 .unit = "iterations",
                 .otherwise = "none",
                 .range = at_least(1)}),
          field(&O::exit_duration_in_mins,
                {.name = "exit-duration-in-mins",
                 .help = "end the run, with a save, behind the step under way when so much time "
                         "has passed; SIGUSR1, SIGTERM, SIGHUP and Ctrl-C do it at any time",
                 .unit = "minutes",
                 .otherwise = "none",
                 .range = above(0)}),
          field(&O::on_nan,
                {.name = "on-nan",
                 .help = "what follows a gradient that is not finite: the run stops, or the step "
                         "is skipped; where it first appeared is told in any case",
                 .words = {"stop", "skip"}}),
      }};
  return table;
}

namespace {

std::optional<Conflict> not_whole(const char* name, int64_t batch, int64_t microbatch) {
  if (batch % microbatch == 0) return std::nullopt;
  return Conflict{
      .names = {name, "micro-batch-size"},
      .what = format("{} {} is not a multiple of micro-batch-size {}", name, batch, microbatch),
      .rule = "a global batch consists of whole microbatches",
      .remedy = format("use {} {}", name, nearest_multiples(batch, microbatch))};
}

std::optional<int64_t> whole_number(const std::string& word) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<BatchOptions::RampUp> BatchOptions::ramp_up() const {
  if (rampup_batch_size.size() != 3) return std::nullopt;
  const auto start = whole_number(rampup_batch_size[0]);
  const auto increment = whole_number(rampup_batch_size[1]);
  const auto samples = whole_number(rampup_batch_size[2]);
  if (!start || !increment || !samples) return std::nullopt;
  return RampUp{*start, *increment, *samples};
}

namespace {

std::optional<Conflict> ramp_up_conflict(const BatchOptions& options) {
  const auto& batch = options.global_batch_size;
  if (options.rampup_batch_size.empty()) return std::nullopt;
  Conflict conflict = {.names = {"rampup-batch-size", "global-batch-size"},
                       .rule =
                           "START INCREMENT SAMPLES are whole numbers above 0, and START is below "
                           "global-batch-size by a multiple of INCREMENT",
                       .remedy = "as in --rampup-batch-size 32 32 65536 --global-batch-size 256"};
  const auto ramp = options.ramp_up();
  if (!ramp || ramp->start < 1 || ramp->increment < 1 || ramp->samples < 1 ||
      ramp->samples > kLargestSamples) {
    conflict.what = format("rampup-batch-size is '{}'", text_of(options.rampup_batch_size));
    return conflict;
  }
  if (!batch) {
    conflict.what = "rampup-batch-size without global-batch-size";
    return conflict;
  }
  if (ramp->start >= *batch || (*batch - ramp->start) % ramp->increment != 0) {
    conflict.what = format("from {} by {} the batch does not arrive at global-batch-size {}",
                           ramp->start, ramp->increment, *batch);
    return conflict;
  }
  if (auto start = not_whole("rampup-batch-size", ramp->start, options.micro_batch_size))
    return start;
  return not_whole("rampup-batch-size", ramp->increment, options.micro_batch_size);
}

}  // namespace

std::optional<Conflict> BatchOptions::validate() const {
  if (train_iters.has_value() == train_samples.has_value()) {
    return Conflict{.names = {"train-iters", "train-samples"},
                    .what = train_iters ? "train-iters and train-samples are both given"
                                        : "neither train-iters nor train-samples is given",
                    .rule = "a run has one length",
                    .remedy = train_iters ? "leave one of them out" : "give train-iters"};
  }
  if (step_batch_size_schedule && (!rampup_batch_size.empty() || global_batch_size)) {
    const bool ramp = !rampup_batch_size.empty();
    return Conflict{
        .names = {"step-batch-size-schedule", ramp ? "rampup-batch-size" : "global-batch-size"},
        .what = format("step-batch-size-schedule and {} are both given",
                       ramp ? "rampup-batch-size" : "global-batch-size"),
        .rule = "the schedule says every batch's size",
        .remedy = "leave one of them out"};
  }
  const int64_t batch = global_batch_size.value_or(micro_batch_size);
  if (train_iters && *train_iters > kLargestSamples / batch) {
    return Conflict{.names = {"train-iters", "global-batch-size"},
                    .what = format("train-iters {} of {} sequences each", *train_iters, batch),
                    .rule = format("a run has at most {} sequences", kLargestSamples),
                    .remedy = format("use train-iters {} or less", kLargestSamples / batch)};
  }
  if (auto conflict = not_whole("global-batch-size", batch, micro_batch_size)) return conflict;
  return ramp_up_conflict(*this);
}

}  // namespace trireme::config
