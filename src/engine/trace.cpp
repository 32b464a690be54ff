#include "engine/trace.h"

#include <algorithm>

#include "core/format.h"
#include "program/op.h"

namespace trireme::engine {
namespace {

using std::chrono::steady_clock;

enum Row { kSteps, kActions, kOps, kCommunication, kIdle, kRows };
constexpr std::array<std::string_view, kRows> kRowNames = {"steps", "actions", "ops",
                                                           "communication", "idle"};

int64_t nanoseconds(Time time) {
  return time.time_since_epoch() / std::chrono::nanoseconds(1);
}

// As in "receive activation 1F0", "all_reduce gradient".
std::string name_of(const comm::Exchange& exchange) {
  const std::string_view what = exchange.what.text();
  return format("{} {}{}{}", comm::name_of(exchange.verb), program::name_of(exchange.traffic),
                what.empty() ? "" : " ", what);
}

}  // namespace

// Lines of JSON, a comma between them. All text is our own and needs no escape.
class Trace::Writer {
 public:
  Writer(int rank, const ClockLine& clock, int64_t origin)
      : rank_(rank), clock_(clock), origin_(origin) {}

  void metadata(int row, std::string_view what, std::string_view name) {
    line(format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":"{}"}}}})", rank_, row,
                what, name));
  }
  void metadata(int row, std::string_view what, int index) {
    line(format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"sort_index":{}}}}})", rank_,
                row, what, index));
  }
  void span(int row, std::string_view category, std::string_view name, Time start, Time end,
            std::string_view args = {}) {
    const int64_t from = at(start);
    line(format(
        R"({{"ph":"X","pid":{},"tid":{},"cat":"{}","name":"{}","ts":{:.3f},"dur":{:.3f}{}}})",
        rank_, row, category, name, micros(from), micros(at(end) - from), args));
  }
  // From start to end whatever else is meanwhile.
  void transfer(size_t number, std::string_view name, Time start, Time end, std::string_view args) {
    for (const bool begin : {true, false}) {
      line(format(
          R"({{"ph":"{}","pid":{},"tid":{},"cat":"transfer","id":"{}.{}","name":"{}","ts":{:.3f}{}}})",
          begin ? "b" : "e", rank_, static_cast<int>(kCommunication), rank_, number, name,
          micros(at(begin ? start : end)), begin ? args : ""));
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void line(const std::string& text) {
    if (!text_.empty()) text_ += ",\n";
    text_ += text;
  }
  [[nodiscard]] int64_t at(Time time) const { return clock_.on_first(nanoseconds(time)) - origin_; }
  static double micros(int64_t time) { return static_cast<double>(time) / 1e3; }

  int rank_;
  ClockLine clock_;
  int64_t origin_;
  std::string text_;
};

void Trace::begin_step(int64_t iteration) {
  steps_.push_back({.iteration = iteration, .start = steady_clock::now(), .end = {}});
}

void Trace::end_step() {
  steps_.back().end = steady_clock::now();
}

void Trace::begin(const schedule::Action& action) {
  actions_.push_back({.action = action, .start = steady_clock::now(), .end = {}});
}

void Trace::end(const schedule::Action&) {
  actions_.back().end = last_ = steady_clock::now();
}

void Trace::op(const OpRecord& record) {
  last_ = record.end;
  if (record.op.is_exchange()) return;  // its start and its wait tell it
  ops_.push_back({.name = program::name_of(record.op.op->spec),
                  .layer = static_cast<int>(record.op.layer),
                  .start = record.start,
                  .end = record.end});
}

void Trace::exchange(const ExchangeRecord& record) {
  last_ = record.waited;
  exchanges_.push_back({.group = record.group,
                        .exchange = record.exchange,
                        .start = record.start,
                        .started = record.started,
                        .completed = record.completed,
                        .wait = record.wait,
                        .waited = record.waited});
}

int64_t Trace::first() const {
  Time first = steady_clock::now();
  if (!steps_.empty()) first = std::min(first, steps_.front().start);
  if (!actions_.empty()) first = std::min(first, actions_.front().start);
  return nanoseconds(first);
}

std::string Trace::peer_of(const Exchanged& one) const {
  if (one.exchange.verb != comm::Verb::send && one.exchange.verb != comm::Verb::receive) return "";
  const Rank peer = topology_.group(one.group, rank_)[static_cast<size_t>(one.exchange.peer)];
  return format(R"(,"peer":"rank {} = {}")", peer.value, topology_.coordinates(peer).text());
}

std::string Trace::events(const ClockLine& clock, int64_t origin) const {
  Writer writer(rank_.value, clock, origin);
  writer.metadata(0, "process_name",
                  format("rank {} = {}", rank_.value, topology_.coordinates(rank_).text()));
  writer.metadata(0, "process_sort_index", rank_.value);
  for (int row = 0; row < kRows; ++row) {
    writer.metadata(row, "thread_name", kRowNames[static_cast<size_t>(row)]);
    writer.metadata(row, "thread_sort_index", row);
  }
  // What a failure left open ends with what is known last.
  const auto end_of = [&](const auto& span) {
    return span.end == Time() ? std::max(span.start, last_) : span.end;
  };
  for (const Step& step : steps_)
    writer.span(kSteps, "step", format("step {}", step.iteration), step.start, end_of(step));
  for (const ActionSpan& span : actions_)
    writer.span(kActions, "action", span.action.text(), span.start, end_of(span));
  for (const OpSpan& span : ops_) {
    writer.span(kOps, "op", span.name, span.start, span.end,
                format(R"(,"args":{{"layer":{}}})", span.layer));
  }
  for (size_t i = 0; i < exchanges_.size(); ++i) {
    const Exchanged& one = exchanges_[i];
    const std::string name = name_of(one.exchange);
    const std::string args = format(R"(,"args":{{"group":"{}","bytes":{}{}}})",
                                    trireme::name_of(one.group), one.exchange.bytes, peer_of(one));
    writer.span(kCommunication, "start", "start " + name, one.start, one.started, args);
    writer.span(kIdle, "wait", name, one.wait, one.waited, args);
    writer.transfer(i, name, one.start, one.completed, args);
  }
  return writer.take();
}

std::string chrome_trace(const std::vector<std::string>& events_of_ranks) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (size_t rank = 0; rank < events_of_ranks.size(); ++rank) {
    if (rank > 0) text += ",\n";
    text += events_of_ranks[rank];
  }
  return text + "\n]}\n";
}

}  // namespace trireme::engine
