#include "core/fuzz.h"
#include "schedule/communication.h"
#include "schedule/slots.h"
#include "schedule/text.h"
#include "schedule/timeline.h"
#include "schedule/validate.h"

namespace {

using namespace trireme;

// What is accepted as a pipeline's schedule runs to its end, with and without its messages.
void require_runs(const schedule::Pipeline& read) {
  schedule::Pipeline whole;
  if (!fuzz::accepted([&] { whole = schedule::insert_communication(read); })) return;
  schedule::validate(whole);
  fuzz::require(schedule::parse_pipeline(schedule::print(whole)) == whole,
                "print and parse are inverse with messages");
  const schedule::Timeline times =
      schedule::timeline(whole, schedule::equal_durations(1, 2, whole.chunks));
  for (int rank = 0; rank < whole.stages(); ++rank) {
    fuzz::require(times.idle(rank) >= -1e-9 * times.makespan, "a rank is idle or busy");
    const schedule::Schedule of_rank = whole.of(rank);
    fuzz::require(
        schedule::assign_slots(of_rank).chunks_in_flight <= of_rank.chunks * of_rank.microbatches,
        "a forward keeps one slot at most");
    static_cast<void>(schedule::assign_buffers(of_rank));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  schedule::Schedule read;
  if (fuzz::accepted([&] { read = schedule::parse(text); })) {
    fuzz::require(schedule::parse(schedule::print(read)) == read, "print and parse are inverse");
  }
  schedule::Pipeline pipeline;
  if (fuzz::accepted([&] { pipeline = schedule::parse_pipeline(text); })) {
    fuzz::require(schedule::parse_pipeline(schedule::print(pipeline)) == pipeline,
                  "print and parse of a pipeline are inverse");
    require_runs(pipeline);
  }
  return 0;
}
