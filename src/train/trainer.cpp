#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "train/nonfinite.h"

namespace trireme::train {

using program::BatchField;
using program::StepScalar;

Trainer::Trainer(engine::Session& session, const data::Batches& batches, BatchCourse course,
                 const LearningRate& rate, uint32_t seed)
    : session_(session), batches_(batches), course_(std::move(course)), rate_(rate) {
  const model::RunPlan& plan = session.plan();
  fields_.resize(plan.shape.length, plan.batch.sequences);
  session_.set_scalar(StepScalar::seed, static_cast<int32_t>(seed));
}

StepReport Trainer::step() {
  const auto start = std::chrono::steady_clock::now();
  const model::RunPlan& plan = session_.plan();
  const int64_t batch = course_.at(position_.consumed_samples);
  const int64_t first = overfit_ ? 0 : position_.consumed_samples;
  const int64_t counted = batches_.counted_tokens(first, batch);
  if (counted == 0) {
    fail({.where = format("global batch at sample {}", first),
          .what = "no token counts: the loss mask is zero everywhere",
          .rule = "the loss is a mean over counted tokens",
          .remedy = "use a larger --global-batch-size, or data with longer documents"});
  }
  const double rate = rate_.at(position_.scheduler_samples);

  write_step_scalars(rate, counted);
  run_schedule(first, batch);

  const double loss_total = session_.scalar<double>(StepScalar::loss_total);
  const double norm = session_.scalar<double>(StepScalar::gradient_norm);
  const bool skipped = !std::isfinite(norm);
  position_.iteration += 1;
  position_.consumed_samples += batch;
  if (!skipped) {
    position_.adam_step += 1;
    position_.scheduler_samples += batch;
  }
  return {
      .iteration = position_.iteration,
      .consumed_samples = position_.consumed_samples,
      .loss = loss_total / static_cast<double>(counted),
      .gradient_norm = norm,
      .skipped = skipped,
      .learning_rate = rate,
      .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
      .global_batch = batch,
      .tokens = batch * plan.shape.length,
      .flops = plan.nominal_step_flops(static_cast<int>(batch / plan.global_batch(1)))};
}

std::string Trainer::find_non_finite() {
  const int64_t first = last_first_;
  const int64_t batch = last_batch_;
  write_step_scalars(rate_.at(position_.scheduler_samples), batches_.counted_tokens(first, batch));
  NonFiniteFinder finder(session_);
  run_schedule(first, batch);
  if (!finder.found())
    return "running the batch again gave finite numbers only: a fault of the machine";
  const int64_t b = session_.plan().batch.sequences;
  const int64_t sample = first + finder.action().microbatch.value * b;
  return format("{}; samples {} to {}", finder.text(), sample, sample + b - 1);
}

void Trainer::write_step_scalars(double learning_rate, int64_t counted_tokens) {
  session_.set_scalar(StepScalar::learning_rate, static_cast<float>(learning_rate));
  session_.set_scalar(StepScalar::gradient_scale,
                      static_cast<float>(1 / static_cast<double>(counted_tokens)));
  session_.set_scalar(StepScalar::adam_step, position_.adam_step + 1);
  session_.set_scalar(StepScalar::loss_total, 0.0);
}

void Trainer::run_schedule(int64_t first_sample, int64_t batch) {
  const model::RunPlan& plan = session_.plan();
  const int64_t b = plan.batch.sequences;
  const auto microbatches = static_cast<int>(batch / plan.global_batch(1));
  last_first_ = first_sample;
  last_batch_ = batch;
  session_.start_batch(microbatches);
  for (const schedule::Action& action : plan.batch_plan(microbatches).schedule.actions) {
    if (action.kind == schedule::ActionKind::forward) {
      batches_.fill(first_sample + action.microbatch.value * b, b, fields_);
      write_fields(session_, action.microbatch, fields_);
    }
    session_.run(action);
  }
}

void write_fields(engine::Session& session, MicrobatchId microbatch,
                  const data::BatchFields& fields) {
  session.write_field<int32_t>(BatchField::tokens, microbatch, fields.tokens);
  session.write_field<int32_t>(BatchField::labels, microbatch, fields.labels);
  session.write_field<float>(BatchField::loss_mask, microbatch, fields.loss_mask);
  session.write_field<int32_t>(BatchField::positions, microbatch, fields.positions);
  session.write_field<int32_t>(BatchField::segment_starts, microbatch, fields.segment_starts);
  session.write_field<int64_t>(BatchField::samples, microbatch, fields.sample_positions);
  session.synchronize();  // the fields are filled again for the next microbatch
}

double evaluate_loss(engine::Session& session, const data::Batches& batches, int64_t first,
                     int64_t samples) {
  const int64_t b = session.plan().batch.sequences;
  data::BatchFields fields;
  fields.resize(session.plan().shape.length, b);
  session.set_scalar(StepScalar::loss_total, 0.0);
  int64_t counted = 0;
  for (int64_t at = first; at < first + samples; at += b) {
    batches.fill(at, b, fields);
    counted += batches.counted_tokens(at, b);
    write_fields(session, MicrobatchId{0}, fields);
    session.evaluate();
  }
  return session.scalar<double>(StepScalar::loss_total) / static_cast<double>(counted);
}

}  // namespace trireme::train
