#include "faults_run.h"
namespace trireme { namespace {
TEST(T, D) {
  FaultyStep step;
  auto clean = step.run({}, comm::Fault::none, std::chrono::milliseconds(20000));
  std::printf("%s\n", clean.failure.c_str());
  size_t n = 0;
  for (auto& s : clean.sent) { std::printf("%zu\n", s.headers.size()); n+= s.headers.size(); }
  for (auto& h : clean.sent[0].headers) std::printf("g%d %s\n", h.group, step.text_of(h).c_str());
  for (uint64_t k : {0, 5, 20, 30, 40, 60})
    for (auto f : {comm::Fault::delay, comm::Fault::drop, comm::Fault::twice, comm::Fault::to_other_rank, comm::Fault::to_other_lane})
      std::printf("%d %s\n", int(f), step.run({3, k}, f, std::chrono::milliseconds(700)).failure.c_str());
}
}}
