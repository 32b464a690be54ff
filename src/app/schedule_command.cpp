// trireme schedule: prints, draws or checks the order of work of a pipeline.

#include <unistd.h>

#include "app/commands.h"
#include "core/error.h"
#include "core/file.h"
#include "core/format.h"
#include "core/log.h"
#include "core/table.h"
#include "schedule/communication.h"
#include "schedule/pictures.h"
#include "schedule/schedules.h"
#include "schedule/slots.h"
#include "schedule/text.h"
#include "schedule/validate.h"

namespace trireme::app {
namespace {

using schedule::Pipeline;
using schedule::Timeline;

enum class Format { text, picture, json, svg, trace };

// Forwards of all ranks; beyond it nobody reads the answer, and memory would run out first.
constexpr int64_t kMostForwards = 2'000'000;

struct ScheduleOptions {
  std::optional<schedule::ScheduleKind> schedule = {};
  int64_t stages = 4;
  int64_t microbatches = 8;
  int64_t chunks = 1;
  std::optional<int64_t> group_size = {};
  std::optional<Path> schedule_file = {};
  double forward_time = 1;
  double backward_time = 2;
  double message_time = 0;
  Format format = Format::text;
  std::optional<Path> output = {};

  /// As in training.
  [[nodiscard]] schedule::ScheduleKind kind() const {
    if (schedule) return *schedule;
    return chunks > 1 ? schedule::ScheduleKind::interleaved
                      : schedule::ScheduleKind::one_forward_one_backward;
  }

  static const config::Group& group() {
    using O = ScheduleOptions;
    static const config::Group table = {
        "Schedule",
        "in which order the ranks of a pipeline work",
        {config::field(&O::schedule, {.name = "schedule",
                                      .help = "order of forwards and backwards",
                                      .otherwise = "1f1b; with chunks (v above 1): interleaved",
                                      .words = {"gpipe", "1f1b", "interleaved", "forward-only"}}),
         config::field(&O::stages, {.name = "pipeline-model-parallel-size",
                                    .help = "pipeline stages, p",
                                    .range = config::between(1, 4096)}),
         config::field(&O::microbatches, {.name = "num-microbatches",
                                          .help = "microbatches of a global batch, m",
                                          .range = config::between(1, 1'000'000)}),
         config::field(&O::chunks, {.name = "num-virtual-stages-per-pipeline-rank",
                                    .help = "model chunks of each rank, v",
                                    .range = config::between(1, 1024)}),
         config::field(&O::group_size,
                       {.name = "microbatch-group-size-per-virtual-pipeline-stage",
                        .help = "microbatches that go through a chunk before the next has its turn",
                        .otherwise = "p",
                        .range = config::between(1, 1'000'000)}),
         config::field(&O::schedule_file,
                       {.name = "schedule-file",
                        .help = "check the schedule in this file instead (its form: "
                                "docs/formats.md); messages are added where it has none"}),
         config::field(&O::forward_time,
                       {.name = "forward-time",
                        .help = "forward of a microbatch through all layers of a rank",
                        .unit = "ms",
                        .range = config::between(0, 1e9)}),
         config::field(&O::backward_time,
                       {.name = "backward-time",
                        .help = "backward of a microbatch through all layers of a rank",
                        .unit = "ms",
                        .range = config::between(0, 1e9)}),
         config::field(&O::message_time, {.name = "message-time",
                                          .help = "one message between two stages",
                                          .unit = "ms",
                                          .range = config::between(0, 1e9)}),
         config::field(&O::format, {.name = "format",
                                    .help = "what is printed: the schedule as text, a picture for "
                                            "terminals or as SVG, a Chrome trace, JSON",
                                    .words = {"text", "picture", "json", "svg", "trace"}}),
         config::field(&O::output, {.name = "output",
                                    .help = "write it to this file instead of printing it"})}};
    return table;
  }
};

void declare(ScheduleOptions& options, config::OptionSet& set) {
  set.add(options);
}

// With a file these have nothing to say.
void refuse_beside_file(const config::OptionSet& set) {
  for (const char* name : {"schedule", "pipeline-model-parallel-size", "num-microbatches",
                           "num-virtual-stages-per-pipeline-rank",
                           "microbatch-group-size-per-virtual-pipeline-stage"}) {
    if (!set.source_of(name)) continue;
    set.refuse({.names = {name, "schedule-file"},
                .what = format("{} and schedule-file are both given", name),
                .rule = "the file says order and sizes",
                .remedy = "leave one of them out"});
  }
}

Pipeline built_in(const ScheduleOptions& options, const config::OptionSet& set) {
  if (options.stages * options.microbatches * options.chunks > kMostForwards) {
    set.refuse({.names = {"num-microbatches"},
                .what = format("p {} x m {} x v {} forwards", options.stages, options.microbatches,
                               options.chunks),
                .rule = format("at most {} are printed", kMostForwards)});
  }
  if (options.group_size && options.kind() != schedule::ScheduleKind::interleaved) {
    set.refuse({.names = {"microbatch-group-size-per-virtual-pipeline-stage"},
                .what = "given for a schedule that is not interleaved",
                .rule = "groups order the interleaved schedule",
                .remedy = "use --schedule interleaved"});
  }
  const schedule::PipelineShape shape = {.stages = static_cast<int>(options.stages),
                                         .microbatches = static_cast<int>(options.microbatches),
                                         .chunks = static_cast<int>(options.chunks),
                                         .group = static_cast<int>(options.group_size.value_or(0))};
  return schedule::make_pipeline(options.kind(), shape);
}

// Bubble and what each rank needs.
std::string summary(const Pipeline& pipeline, const Timeline& times,
                    const ScheduleOptions& options) {
  std::string text =
      format("p {}, m {}, v {}; forward {:.6g} ms, backward {:.6g} ms, message {:.6g} ms\n",
             pipeline.stages(), pipeline.microbatches, pipeline.chunks, options.forward_time,
             options.backward_time, options.message_time);
  text += format("makespan {:.6g} ms, bubble {:.2f}% of the ideal time", times.makespan,
                 100 * times.bubble());
  text += format(
      "; (p - 1)/(v m) = {:.2f}%\n",
      100 * schedule::ideal_bubble(pipeline.stages(), pipeline.microbatches, pipeline.chunks));
  using Align = TextTable::Align;
  TextTable table({{"rank", Align::left},
                   {"chunks in flight", Align::right},
                   {"microbatches by chunk", Align::right},
                   {"activations received", Align::right},
                   {"gradients received", Align::right},
                   {"idle ms", Align::right}});
  for (int rank = 0; rank < pipeline.stages(); ++rank) {
    const schedule::Schedule own = pipeline.of(rank);
    const schedule::SlotAssignment slots = schedule::assign_slots(own);
    const schedule::BufferAssignment buffers = schedule::assign_buffers(own);
    table.row({format("{}", rank), format("{}", slots.chunks_in_flight),
               format("{}", fmt::join(slots.in_flight, " ")),
               format("{}", buffers.receive_activation.count),
               format("{}", buffers.receive_gradient.count), format("{:.6g}", times.idle(rank))});
  }
  text += table.text();
  return text + "in flight: most at once; received: most buffers at once for what comes\n";
}

// Lines as comments of the text form.
std::string comment(const std::string& lines) {
  std::string text = "# ";
  for (size_t at = 0; at < lines.size(); ++at) {
    text += lines[at];
    if (lines[at] == '\n' && at + 1 < lines.size()) text += "# ";
  }
  return text;
}

std::string shown(const Pipeline& pipeline, const Timeline& times, const ScheduleOptions& options) {
  const bool terminal = !options.output && is_terminal(STDOUT_FILENO);
  switch (options.format) {
    case Format::text:
      return schedule::print(pipeline) + comment(summary(pipeline, times, options));
    case Format::picture:
      return schedule::text_picture(
                 pipeline, times,
                 {.columns = terminal ? terminal_columns() : 0, .colour = terminal}) +
             "\n" + summary(pipeline, times, options);
    case Format::json:
      return schedule::json(pipeline, times);
    case Format::svg:
      return schedule::svg_picture(pipeline, times);
    case Format::trace:
      return schedule::chrome_trace(times);
  }
  return {};
}

int run(const ScheduleOptions& options, const config::OptionSet& set) {
  Pipeline pipeline;
  if (options.schedule_file) {
    refuse_beside_file(set);
    pipeline = schedule::insert_communication(schedule::parse_pipeline(
        read_file(*options.schedule_file), options.schedule_file->string()));
    note(format("{} is a valid schedule", options.schedule_file->string()));
    for (const std::string& line : schedule::notes_on_sums(pipeline)) note(line);
  } else {
    pipeline = built_in(options, set);
  }
  const Timeline times = schedule::timeline(
      pipeline, schedule::equal_durations(options.forward_time, options.backward_time,
                                          pipeline.chunks, options.message_time));
  std::string text = shown(pipeline, times, options);
  if (options.output) {
    write_file(*options.output, text);
    say(format("{}: {}", options.output->string(), bytes_text(static_cast<double>(text.size()))));
    if (options.format != Format::text) say(summary(pipeline, times, options));
    return 0;
  }
  text.pop_back();  // say() ends the line
  say(text);
  return 0;
}

}  // namespace

Command schedule_command() {
  return make_command<ScheduleOptions>(
      {.name = "schedule",
       .summary = "print, draw or check the order of work of a pipeline",
       .about = "Prints what every rank of a pipeline does in one global batch, action by action: "
                "0F3 is the forward of microbatch 3 through chunk 0, 0B3 its backward; >0F3 sends "
                "what 0F3 made to the next stage, <0F3 receives what it needs. Beside it, the "
                "bubble for equal stages, and how many microbatches each rank keeps in flight, "
                "which is what its activations cost. A schedule of your own in a file is checked: "
                "every microbatch once, messages that match, no deadlock; what is wrong is told, "
                "with exit status 1. Nothing is trained and nothing else is needed.",
       .examples =
           "trireme schedule --schedule 1f1b --pipeline-model-parallel-size 4 --num-microbatches 8 "
           "--format picture\n"
           "trireme schedule --schedule interleaved --pipeline-model-parallel-size 4 "
           "--num-microbatches 8 --num-virtual-stages-per-pipeline-rank 2 --format svg --output "
           "interleaved.svg\n"
           "trireme schedule --schedule gpipe --output mine.txt\n"
           "trireme schedule --schedule-file mine.txt"},
      declare, run);
}

}  // namespace trireme::app
