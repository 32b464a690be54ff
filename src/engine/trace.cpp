#include "engine/trace.h"

#include <algorithm>

#include "core/format.h"
#include "program/op.h"

namespace trireme::engine {

void Trace::begin(const schedule::Action&) {
  action_start_ = std::chrono::steady_clock::now();
}

void Trace::op(const OpRecord& record) {
  events_.push_back({.name = std::string(program::name_of(record.op.op->spec)),
                     .category = "op",
                     .layer = static_cast<int>(record.op.layer),
                     .start = record.start,
                     .end = record.end});
}

void Trace::end(const schedule::Action& action) {
  events_.push_back({.name = action.text(),
                     .category = "action",
                     .start = action_start_,
                     .end = std::chrono::steady_clock::now()});
}

std::string Trace::json() const {
  Time first = Time::max();
  for (const Event& event : events_) first = std::min(first, event.start);
  const auto micros = [](std::chrono::steady_clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  // The names are our own and need no escape.
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  text += format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"rank {}"}}}})",
                 rank_, rank_);
  constexpr std::string_view kRows[] = {"actions", "ops"};
  for (int row = 0; row < 2; ++row) {
    text += format(
        ",\n{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":"
        "\"{}\"}}}}",
        rank_, row, kRows[row]);
  }
  for (const Event& event : events_) {
    text += format(
        ",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"cat\":\"{}\",\"name\":\"{}\",\"ts\":{:.3f},"
        "\"dur\":{:.3f}",
        rank_, event.category == "op" ? 1 : 0, event.category, event.name,
        micros(event.start - first), micros(event.end - event.start));
    if (event.layer >= 0) text += format(",\"args\":{{\"layer\":{}}}", event.layer);
    text += "}";
  }
  return text + "\n]}\n";
}

}  // namespace trireme::engine
