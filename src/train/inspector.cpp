#include "train/inspector.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "comm/gather_text.h"
#include "core/error.h"
#include "core/failure.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::train {

Inspector::Inspector(engine::Session& session, const World& world,
                     const config::DebugOptions& options)
    : session_(session),
      world_(world),
      steps_left_(options.inspect_iters),
      trace_file_(options.trace) {
  if (options.trace) {
    const model::RunPlan& plan = session.plan();
    session.add_observer(trace_.emplace(plan.topology, plan.topology.rank(plan.at)));
    clock_ = engine::read_first_clock(world.group, world.stream);
  }
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
    if (trace_) write_own_trace();
  } catch (...) {
    // Told here: what ends the run, if it is a failure, is told elsewhere.
    static_cast<void>(tell_failure(std::current_exception()));
  }
  detach();
}

void Inspector::start_iteration(int64_t iteration) {
  if (dump_) dump_->start_iteration(iteration);
  if (trace_) trace_->begin_step(iteration);
}

void Inspector::end_iteration() {
  if (trace_) trace_->end_step();
  if (--steps_left_ == 0) finish();
}

void Inspector::finish() {
  if (trace_) write_trace();
  detach();
}

void Inspector::write_trace() {
  const engine::ClockLine clock(clock_, engine::read_first_clock(world_.group, world_.stream));
  // Times count from the first event of all.
  int64_t origin = std::numeric_limits<int64_t>::max();
  for (const std::string& text : comm::gather_texts(
           world_.group, world_.stream, format("{}", clock.on_first(trace_->first())))) {
    int64_t first = 0;
    std::from_chars(text.data(), text.data() + text.size(), first);
    origin = std::min(origin, first);
  }
  const std::vector<std::string> events =
      comm::gather_texts(world_.group, world_.stream, trace_->events(clock, origin));
  if (!world_.is_first()) return;
  write_file(*trace_file_, engine::chrome_trace(events));
  say(format("trace: {}", trace_file_->string()));
}

void Inspector::write_own_trace() const {
  const engine::ClockLine clock(clock_, clock_);
  Path file = *trace_file_;
  if (!world_.is_first()) file += format(".rank{}", world_.group.rank());
  write_file(file, engine::chrome_trace({trace_->events(clock, clock.on_first(trace_->first()))}));
  say(format("trace: {}", file.string()));
}

void Inspector::detach() {
  if (trace_) session_.remove_observer(*trace_);
  if (dump_) session_.remove_observer(*dump_);
  trace_.reset();
  dump_.reset();
}

}  // namespace trireme::train
