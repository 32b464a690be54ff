#include "train/inspector.h"

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::train {

Inspector::Inspector(engine::Session& session, const config::DebugOptions& options)
    : session_(session), steps_left_(options.inspect_iters), trace_file_(options.trace) {
  if (options.trace) session.add_observer(trace_.emplace(0));
  if (options.dump) {
    const model::RunPlan& plan = session.plan();
    const Path folder = plan.topology.world_size() == 1
                            ? *options.dump
                            : *options.dump / format("rank_{}", plan.topology.rank(plan.at).value);
    make_folder(folder);
    session.add_observer(dump_.emplace(session, folder));
  }
}

Inspector::~Inspector() {
  try {
    finish();
  } catch (const Error& error) {
    detach();
    warn(error.what());
  }
}

void Inspector::start_iteration(int64_t iteration) {
  if (dump_) dump_->start_iteration(iteration);
}

void Inspector::end_iteration() {
  if (--steps_left_ == 0) finish();
}

void Inspector::finish() {
  if (trace_) {
    write_file(*trace_file_, trace_->json());
    say(format("trace: {}", trace_file_->string()));
  }
  detach();
}

void Inspector::detach() {
  if (trace_) session_.remove_observer(*trace_);
  if (dump_) session_.remove_observer(*dump_);
  trace_.reset();
  dump_.reset();
}

}  // namespace trireme::train
