#include "comm/local/run.h"

#include <system_error>
#include <thread>

#include "comm/local/world.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::comm {

void run_ranks(const LocalRun& run, const std::function<void(Port& port)>& body) {
  LocalWorld world(run.ranks, run.places);
  const auto rank = [&](int number) {
    set_place(world.place_of(number));
    try {
      std::unique_ptr<Transport> transport = world.transport(number);
      if (run.between) transport = run.between(std::move(transport));
      Port port(std::move(transport), run.patience);
      body(port);
    } catch (...) {
      world.fail(number, std::current_exception());
    }
  };
  std::vector<std::thread> threads;
  try {
    for (int number = 0; number < run.ranks; ++number) threads.emplace_back(rank, number);
  } catch (const std::system_error& error) {
    const auto started = static_cast<int>(threads.size());
    world.fail(started,
               std::make_exception_ptr(Error(
                   Error::Kind::run, {.where = "ranks",
                                      .what = format("only {} of {} threads could be started: {}",
                                                     started, run.ranks, error.what()),
                                      .remedy = "run fewer ranks in this process"})));
  }
  for (std::thread& thread : threads) thread.join();
  world.rethrow_cause();
}

}  // namespace trireme::comm
