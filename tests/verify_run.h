#pragma once
// Verifications of runs cut over ranks that are threads, sound and with planted faults.

#include "parallel_run.h"
#include "train/verify/verify.h"

namespace trireme {

/// Where the rank of this thread is; kernels of a test ask it.
inline thread_local parallel::Coordinates planted_at;

/// What a test makes wrong on each rank of the run that is verified.
struct Fault {
  const ops::KernelTable* kernels = &ops::cpu_kernels();
  /// Stands in for the rank's groups.
  std::function<engine::Groups(const engine::Groups&)> groups = {};
  /// Behind the initial weights of a session; of the one-rank run, too, whose rank is not cut.
  std::function<void(engine::Session&)> start = {};
};

/// The report of the first rank; all ranks must have the same.
inline train::VerifyReport verify(const Model& model, const Cut& cut, const Fault& fault = {}) {
  comm::LocalRun local = {.ranks = cut.ranks()};
  local.patience.limit = std::chrono::seconds(120);
  train::VerifyReport first;
  std::vector<std::string> told(static_cast<size_t>(cut.ranks()));
  comm::run_ranks(local, [&](comm::Port& port) {
    device::CpuDevice device(cut.threads);
    const engine::RankGroups groups(port, parallel::Topology(cut.p, cut.t, cut.d, cut.rank_order));
    const std::unique_ptr<device::Stream> stream = device.make_stream();
    const model::RunRequest request = request_of(model, cut, port.rank());
    planted_at = request.at;
    const train::BatchCourse course = course_of(model);
    const train::Verification run = {
        .request = request,
        .data = std::make_shared<const data::Batches>(std::make_shared<RuleSamples>(),
                                                      data::BatchRules{.vocab_size = kWords}),
        .course = course,
        .rate = {.style = config::LrDecayStyle::constant, .most = 3e-3},
        .seed = kSeed,
        .steps = model.steps,
        .start = [&](engine::Session& session, ThreadPool& pool) {
          train::initialise_weights(session, kSeed, pool);
          if (fault.start) fault.start(session);
          return train::Position{};
        }};
    train::VerifyReport report =
        train::verify(run, {.backend = {.device = &device,
                                        .kernels = fault.kernels,
                                        .profile = {.threads = cut.threads}},
                            .groups = fault.groups ? fault.groups(groups.all()) : groups.all(),
                            .world = port.world(),
                            .host_stream = *stream,
                            .pool = device.pool(),
                            .one_rank_threads = 2});
    told[static_cast<size_t>(port.rank())] = report.json();
    if (port.rank() == 0) first = std::move(report);
    port.finish(*stream);
  });
  for (const std::string& text : told) {
    if (text != told.front()) throw std::logic_error("ranks tell different things");
  }
  return first;
}

}  // namespace trireme
