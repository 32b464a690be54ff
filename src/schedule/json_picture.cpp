#include <nlohmann/json.hpp>

#include "core/format.h"
#include "schedule/pictures.h"
#include "schedule/slots.h"

namespace trireme::schedule {
namespace {

using Json = nlohmann::ordered_json;

Json named(size_t rank, int row, std::string_view what, const std::string& name) {
  return {{"ph", "M"}, {"pid", rank}, {"tid", row}, {"name", what}, {"args", {{"name", name}}}};
}

Json complete(int rank, int row, std::string_view category, const Action& action, double start,
              double end) {
  return {{"ph", "X"},
          {"pid", rank},
          {"tid", row},
          {"cat", category},
          {"name", action.text()},
          {"ts", start * 1000},
          {"dur", (end - start) * 1000}};
}

Json needs_of(const Schedule& schedule) {
  const SlotAssignment slots = assign_slots(schedule);
  const BufferAssignment buffers = assign_buffers(schedule);
  return {{"chunks_in_flight", slots.chunks_in_flight},
          {"microbatches_in_flight", slots.in_flight},
          {"receive_buffers",
           {{"activations", buffers.receive_activation.count},
            {"gradients", buffers.receive_gradient.count}}},
          {"send_buffers",
           {{"activations", buffers.send_activation.count},
            {"gradients", buffers.send_gradient.count}}}};
}

}  // namespace

std::string chrome_trace(const Timeline& times) {
  Json events = Json::array();
  for (size_t rank = 0; rank < times.ranks.size(); ++rank) {
    events.push_back(named(rank, 0, "process_name", format("rank {}", rank)));
    events.push_back(named(rank, 0, "thread_name", "actions"));
    events.push_back(named(rank, 1, "thread_name", "messages"));
    for (const Span& span : times.ranks[rank]) {
      if (span.end > span.start)
        events.push_back(
            complete(static_cast<int>(rank), 0, "action", span.action, span.start, span.end));
    }
  }
  for (const Transfer& message : times.messages) {
    if (message.end > message.start)
      events.push_back(
          complete(message.channel.from, 1, "message", message.send, message.start, message.end));
  }
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump(1) + "\n";
}

std::string json(const Pipeline& pipeline, const Timeline& times) {
  Json ranks = Json::array();
  for (int rank = 0; rank < pipeline.stages(); ++rank) {
    Json of_rank = {{"rank", rank}};
    of_rank.update(needs_of(pipeline.of(rank)));
    of_rank["busy"] = times.busy(rank);
    of_rank["idle"] = times.idle(rank);
    Json& actions = of_rank["actions"] = Json::array();
    for (const Span& span : times.ranks[static_cast<size_t>(rank)])
      actions.push_back({{"action", span.action.text()}, {"start", span.start}, {"end", span.end}});
    ranks.push_back(std::move(of_rank));
  }
  Json messages = Json::array();
  for (const Transfer& message : times.messages) {
    messages.push_back({{"from", message.channel.from},
                        {"to", message.channel.to},
                        {"send", message.send.text()},
                        {"start", message.start},
                        {"end", message.end}});
  }
  return Json{{"format", "trireme-timeline"}, {"version", 1},
              {"stages", pipeline.stages()},  {"microbatches", pipeline.microbatches},
              {"chunks", pipeline.chunks},    {"makespan", times.makespan},
              {"bubble", times.bubble()},     {"ranks", ranks},
              {"messages", messages}}
             .dump(1) +
         "\n";
}

}  // namespace trireme::schedule
