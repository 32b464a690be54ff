#include "train/trainer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "engine/batch_fields.h"
#include "train/nonfinite.h"

namespace trireme::train {

using program::StepScalar;

namespace {

void require_counted(int64_t counted_tokens, int64_t first_sample) {
  if (counted_tokens > 0) return;
  fail({.where = format("batch at sample {}", first_sample),
        .what = "no token counts: the loss mask is zero everywhere",
        .rule = "the loss is a mean over counted tokens",
        .remedy = "use a larger --global-batch-size, or data with longer documents"});
}

// The sign of a NaN says nothing.
double without_sign_of_nan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

// Forward and backward of a batch that was begun, in the session and in the feed.
void run_actions(engine::Session& session, const schedule::Schedule& schedule,
                 data::BatchFeed& feed) {
  int written = 0;
  for (const schedule::Action& action : schedule.actions) {
    if (action.kind == schedule::ActionKind::step) continue;  // stands last; the caller's
    // The first forward of a microbatch, whichever chunk's; they come in ascending order.
    if (action.kind == schedule::ActionKind::forward && action.microbatch.value == written) {
      engine::write_fields(session, action.microbatch, feed.microbatch(written++));
    }
    session.run(action);
  }
}

}  // namespace

Trainer::Trainer(engine::Session& session, std::shared_ptr<const data::Batches> batches,
                 const BatchCourse& course, const LearningRate& rate, uint32_t seed,
                 const data::FeedOptions& reading)
    : session_(session),
      feed_(
          std::move(batches),
          {.micro_batch = session.plan().batch.sequences,
           .ranks = session.plan().topology.data(),
           .rank = session.plan().at.data},
          [course](int64_t consumed) { return course.at(consumed); }, reading),
      rate_(rate) {
  session_.set_scalar(StepScalar::seed, static_cast<int32_t>(seed));
}

StepReport Trainer::step() {
  const auto start = std::chrono::steady_clock::now();
  const engine::HostTimes before = session_.times();
  const model::RunPlan& plan = session_.plan();
  feed_.seek(overfit_ ? 0 : position_.consumed_samples);
  const data::GlobalBatch batch = feed_.begin();
  require_counted(batch.counted_tokens, batch.first);
  const double rate = rate_.at(position_.scheduler_samples);

  write_step_scalars(rate, batch.counted_tokens);
  forward_backward(batch);
  step_optimizer();

  const double norm = without_sign_of_nan(session_.scalar<double>(StepScalar::gradient_norm));
  const bool skipped = !std::isfinite(norm);
  stepping_ = false;
  position_.iteration += 1;
  position_.consumed_samples += batch.samples;
  if (!skipped) {
    position_.adam_step += 1;
    position_.scheduler_samples += batch.samples;
  }
  StepReport report = {.iteration = position_.iteration,
                       .consumed_samples = position_.consumed_samples,
                       .gradient_norm = norm,
                       .skipped = skipped,
                       .learning_rate = rate,
                       .global_batch = batch.samples,
                       .tokens = batch.samples * plan.shape.length,
                       .flops = plan.nominal_step_flops(static_cast<int>(batch.microbatches))};
  gather(report);
  report.loss /= static_cast<double>(batch.counted_tokens);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  seconds_ += report.seconds;
  times_ += session_.times();
  times_ -= before;
  return report;
}

// One exchange for all that the ranks tell each other of a step.
void Trainer::gather(StepReport& report) {
  const std::array<double, 3> own = {session_.scalar<double>(StepScalar::loss_total), report.flops,
                                     vote_ ? vote_() : 0};
  gathered_.resize(own.size() * static_cast<size_t>(session_.plan().topology.world_size()));
  session_.gather(own, gathered_, comm::Traffic::loss);
  report.loss = without_sign_of_nan(sum_losses(session_.plan().topology, gathered_, own.size()));
  report.flops = 0;
  report.vote = 0;
  for (size_t rank = 0; rank < gathered_.size(); rank += own.size()) {
    report.flops += gathered_[rank + 1];
    report.vote = std::max(report.vote, gathered_[rank + 2]);
  }
}

double sum_losses(const parallel::Topology& topology, std::span<const double> totals,
                  size_t stride) {
  double loss = 0;
  for (int d = 0; d < topology.data(); ++d) {
    const Rank last = topology.rank({.pipeline = topology.pipeline() - 1, .tensor = 0, .data = d});
    loss += totals[static_cast<size_t>(last.value) * stride];
  }
  return loss;
}

std::string Trainer::find_non_finite(const World& world) {
  feed_.seek(last_first_);
  const data::GlobalBatch batch = feed_.begin();
  write_step_scalars(rate_.at(position_.scheduler_samples), batch.counted_tokens);
  NonFiniteFinder finder(session_);
  forward_backward(batch);

  const std::vector<std::string> found = together(world, [&]() -> std::string {
    if (!finder.found()) return "";
    const int64_t b = session_.plan().batch.sequences;
    const int64_t sample = batch.first +
                           finder.action().microbatch.value * b * session_.plan().topology.data() +
                           session_.plan().at.data * b;
    return format("{}:{}{}; samples {} to {}", finder.place_in_flow(),
                  world.size() == 1 ? "" : place() + ", ", finder.text(), sample, sample + b - 1);
  });
  std::string first;
  for (const std::string& one : found) {
    if (!one.empty() && (first.empty() || one < first)) first = one;
  }
  if (first.empty())
    return "running the batch again gave finite numbers only: a fault of the machine";
  return first.substr(first.find(':') + 1);
}

void Trainer::write_step_scalars(double learning_rate, int64_t counted_tokens) {
  session_.set_scalar(StepScalar::learning_rate, static_cast<float>(learning_rate));
  session_.set_scalar(StepScalar::gradient_scale,
                      static_cast<float>(1 / static_cast<double>(counted_tokens)));
  session_.set_scalar(StepScalar::adam_step, position_.adam_step + 1);
  session_.set_scalar(StepScalar::loss_total, 0.0);
}

void Trainer::forward_backward(const data::GlobalBatch& batch) {
  last_first_ = batch.first;
  const auto microbatches = static_cast<int>(batch.microbatches);
  session_.start_batch(microbatches);
  run_actions(session_, session_.plan().batch_plan(microbatches).schedule, feed_);
}

void Trainer::step_optimizer() {
  stepping_ = true;
  session_.run({.kind = schedule::ActionKind::step});
}

double evaluate_loss(engine::Session& session, std::shared_ptr<const data::Batches> batches,
                     int64_t first, int64_t samples, const data::FeedOptions& reading) {
  const model::RunPlan& plan = session.plan();
  const schedule::Schedule& schedule = plan.evaluation->schedule;
  const int64_t batch = plan.global_batch(schedule.microbatches);
  TRIREME_ASSERT(samples % batch == 0, "an evaluation takes whole batches");
  const int64_t end = first + samples;
  data::BatchFeed feed(
      std::move(batches),
      {.micro_batch = plan.batch.sequences, .ranks = plan.topology.data(), .rank = plan.at.data},
      [=](int64_t at) { return at < end ? batch : 0; }, reading);
  feed.seek(first);
  session.set_scalar(StepScalar::loss_total, 0.0);
  session.start_evaluation();
  int64_t counted = 0;
  for (int64_t at = first; at < end; at += batch) {
    counted += feed.begin().counted_tokens;
    run_actions(session, schedule, feed);
  }
  session.finish_messages();
  require_counted(counted, first);
  const std::array<double, 1> own = {session.scalar<double>(StepScalar::loss_total)};
  std::vector<double> totals(static_cast<size_t>(plan.topology.world_size()));
  session.gather(own, totals, comm::Traffic::loss);
  return sum_losses(plan.topology, totals, 1) / static_cast<double>(counted);
}

}  // namespace trireme::train
