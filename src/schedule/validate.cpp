#include "schedule/validate.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "schedule/dependencies.h"

namespace trireme::schedule {
namespace {

// What one (chunk, microbatch) has gone through so far.
struct Progress {
  bool forward = false;
  bool input_gradient = false;
  bool weight_gradient = false;
  bool sent_activation = false;
  bool sent_gradient = false;
  bool received_activation = false;
  bool received_gradient = false;
};

// The rules of one rank, action by action.
class RankRules {
 public:
  RankRules(const Schedule& schedule, const std::string& where)
      : schedule_(schedule),
        where_(where),
        last_forward_(static_cast<size_t>(schedule.chunks), -1),
        progress_(static_cast<size_t>(schedule.microbatches) *
                  static_cast<size_t>(schedule.chunks)) {}

  void take(const Action& action) {
    if (stepped_) refuse(action, "nothing follows the step");
    if (action.kind == ActionKind::step) {
      stepped_ = true;
      return;
    }
    if (reduced_) refuse(action, "only the step follows reduce_wait");
    if (action.kind == ActionKind::reduce_wait) {
      reduced_ = true;
      return;
    }
    if (action.chunk.value >= schedule_.chunks ||
        action.microbatch.value >= schedule_.microbatches) {
      refuse(action, format("chunks are below {} and microbatches below {}", schedule_.chunks,
                            schedule_.microbatches));
    }
    Progress& here = progress_[static_cast<size_t>(action.chunk.value) *
                                   static_cast<size_t>(schedule_.microbatches) +
                               static_cast<size_t>(action.microbatch.value)];
    if (is_computing(action.kind)) {
      compute(action, here);
    } else {
      communicate(action, here);
    }
  }

  void finish() {
    const auto m = static_cast<size_t>(schedule_.microbatches);
    for (size_t i = 0; i < progress_.size(); ++i) {
      const Progress& here = progress_[i];
      if (here.forward && here.weight_gradient == backwards_) continue;
      fail({.where = where_,
            .what = format("microbatch {} of chunk {} is not {}", i % m, i / m,
                           here.forward ? "finished by a backward" : "in it"),
            .rule = "every microbatch goes forward and then backward once per chunk"});
    }
    if (backwards_ == stepped_ && (stepped_ || !reduced_)) return;
    fail({.where = where_,
          .what =
              backwards_ ? "backwards without a step" : "a step or reduce_wait without backwards",
          .rule = "a step stands last exactly where gradients were made"});
  }

 private:
  void compute(const Action& action, Progress& here) {
    switch (action.kind) {
      case ActionKind::forward: {
        int& before = last_forward_[static_cast<size_t>(action.chunk.value)];
        if (action.microbatch.value <= before)
          refuse(action, "forwards take the microbatches of a chunk in ascending order, once");
        before = action.microbatch.value;
        here.forward = true;
        break;
      }
      case ActionKind::backward:
        if (!here.forward || here.input_gradient)
          refuse(action, "a backward follows its forward, once");
        here.input_gradient = here.weight_gradient = backwards_ = true;
        break;
      case ActionKind::input_gradient:
        if (!here.forward || here.input_gradient)
          refuse(action, "an input gradient follows its forward, once");
        here.input_gradient = backwards_ = true;
        break;
      default:
        if (!here.input_gradient || here.weight_gradient)
          refuse(action, "a weight gradient follows its input gradient, once");
        here.weight_gradient = true;
        break;
    }
  }

  void communicate(const Action& action, Progress& here) {
    switch (action.kind) {
      case ActionKind::send_activation:
        if (!here.forward || here.sent_activation)
          refuse(action, "an activation is sent behind its forward, once");
        here.sent_activation = true;
        break;
      case ActionKind::receive_activation:
        if (here.forward || here.received_activation)
          refuse(action, "an activation is received before its forward, once");
        here.received_activation = true;
        break;
      case ActionKind::send_gradient:
        if (!here.input_gradient || here.sent_gradient)
          refuse(action, "a gradient is sent behind its backward, once");
        here.sent_gradient = true;
        break;
      default:
        if (here.input_gradient || here.received_gradient)
          refuse(action, "a gradient is received before its backward, once");
        here.received_gradient = true;
        break;
    }
  }

  [[noreturn]] void refuse(const Action& action, const std::string& rule) const {
    fail({.where = where_, .what = format("action {}", action.text()), .rule = rule});
  }

  const Schedule& schedule_;
  const std::string& where_;
  std::vector<int> last_forward_;   // [chunk]
  std::vector<Progress> progress_;  // [chunk][microbatch]
  bool backwards_ = false;
  bool reduced_ = false;
  bool stepped_ = false;
};

// Throws unless the ranks' messages are exactly those that cross from one rank to another.
void check_messages(const Pipeline& pipeline) {
  const bool crosses = pipeline.stages() > 1;
  const bool trains = pipeline.trains();
  for (int rank = 0; rank < pipeline.stages(); ++rank) {
    const std::string where = format("schedule, rank {}", rank);
    std::vector<bool> there(static_cast<size_t>(pipeline.chunks) *
                            static_cast<size_t>(pipeline.microbatches) * 4);
    for (const Action& action : pipeline.ranks[static_cast<size_t>(rank)]) {
      if (!is_send(action.kind) && !is_receive(action.kind)) continue;
      const auto which =
          static_cast<size_t>(action.kind) - static_cast<size_t>(ActionKind::send_activation);
      there[(static_cast<size_t>(action.chunk.value) * static_cast<size_t>(pipeline.microbatches) +
             static_cast<size_t>(action.microbatch.value)) *
                4 +
            which] = true;
    }
    for (size_t i = 0; i < there.size(); ++i) {
      const auto kind =
          static_cast<ActionKind>(i % 4 + static_cast<size_t>(ActionKind::send_activation));
      const auto m = static_cast<size_t>(pipeline.microbatches);
      const ChunkId chunk{static_cast<int>(i / 4 / m)};
      const Action action = {
          .kind = kind, .chunk = chunk, .microbatch = MicrobatchId{static_cast<int>(i / 4 % m)}};
      const bool gradient =
          kind == ActionKind::send_gradient || kind == ActionKind::receive_gradient;
      const bool onwards = gradient != is_send(kind);  // to or from the next stage
      const bool wanted =
          crosses && (trains || !gradient) &&
          pipeline.neighbour({.rank = rank, .chunk = chunk}, onwards ? 1 : -1).has_value();
      if (there[i] == wanted) continue;
      fail({.where = where,
            .what = format("{} is {}", action.text(), wanted ? "missing" : "too much"),
            .rule = wanted ? "every boundary between two ranks has its message"
                           : "messages cross boundaries between two ranks only"});
    }
  }
}

}  // namespace

void check_rank(const Schedule& schedule, const std::string& where) {
  const auto forwards =
      std::count_if(schedule.actions.begin(), schedule.actions.end(),
                    [](const Action& action) { return action.kind == ActionKind::forward; });
  const int64_t expected = int64_t{schedule.microbatches} * schedule.chunks;
  // Also keeps the tables below as small as what was written.
  if (forwards != expected) {
    fail({.where = where,
          .what = format("{} forwards, {} microbatches x {} chunks are {}", forwards,
                         schedule.microbatches, schedule.chunks, expected),
          .rule = "every microbatch goes forward once per chunk"});
  }
  RankRules rules(schedule, where);
  for (const Action& action : schedule.actions) rules.take(action);
  rules.finish();
}

std::optional<Action> sum_out_of_order(const Schedule& schedule) {
  std::vector<int> last(static_cast<size_t>(schedule.chunks), -1);
  for (const Action& action : schedule.actions) {
    if (!makes_weight_gradient(action.kind)) continue;
    int& before = last[static_cast<size_t>(action.chunk.value)];
    if (action.microbatch.value < before) return action;
    before = action.microbatch.value;
  }
  return std::nullopt;
}

std::vector<std::string> notes_on_sums(const Pipeline& pipeline) {
  std::vector<std::string> notes;
  for (int rank = 0; rank < pipeline.stages(); ++rank) {
    const auto action = sum_out_of_order(pipeline.of(rank));
    if (!action) continue;
    notes.push_back(
        format("rank {} adds the gradients of chunk {} in another order ({} behind a later "
               "microbatch): the last bits of the sums differ from those of the built-in schedules",
               rank, action->chunk.value, action->text()));
  }
  return notes;
}

void validate(const Schedule& schedule) {
  check_rank(schedule);
  if (const auto action = sum_out_of_order(schedule)) {
    fail({.where = "schedule",
          .what = format("action {}", action->text()),
          .rule = "gradients of a chunk are added in ascending order of microbatches"});
  }
}

void validate(const Pipeline& pipeline) {
  const bool trains = pipeline.trains();
  for (int rank = 0; rank < pipeline.stages(); ++rank) {
    const Schedule schedule = pipeline.of(rank);
    const std::string where = format("schedule, rank {}", rank);
    check_rank(schedule, where);
    if (schedule.trains() != trains) {
      fail({.where = where,
            .what = "forwards only, other ranks go backward",
            .rule = "all ranks of a pipeline train or none"});
    }
  }
  if (pipeline.has_messages()) check_messages(pipeline);
  const Dependencies dependencies = dependencies_of(pipeline);
  require_no_cycle(pipeline, dependencies, running_order(dependencies));
}

}  // namespace trireme::schedule
