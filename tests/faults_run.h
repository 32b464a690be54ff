#pragma once
// A training step on eight ranks in which one message comes to grief.

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "comm/lanes.h"
#include "comm/record/faulty_transport.h"
#include "core/error.h"
#include "parallel_run.h"

namespace trireme {

/// Where a message is among all of a step.
struct Planted {
  int rank = 0;  ///< its sender
  uint64_t message = 0;
};

/// A step by every kind of exchange that there is in training: (2, 2, 2), scatter/gather, tied
/// embeddings, several buckets.
class FaultyStep {
 public:
  struct Outcome {
    std::string failure;                   ///< the first cause; empty: none
    std::vector<double> norms;             ///< by rank
    std::vector<comm::SentMessages> sent;  ///< by rank
  };

  FaultyStep() : topology_(cut_.p, cut_.t, cut_.d) {
    model_.shape.layers = 2;
    model_.shape.hidden = 8;
    model_.shape.heads = 2;
    model_.shape.ffn = 32;
    model_.global_batch = 4;
    for (int rank = 0; rank < topology_.world_size(); ++rank)
      places_.push_back(topology_.coordinates(Rank{rank}).text());
  }

  [[nodiscard]] Outcome run(Planted where, comm::Fault fault,
                            std::chrono::milliseconds limit) const {
    const auto ranks = static_cast<size_t>(topology_.world_size());
    Outcome outcome = {.norms = std::vector<double>(ranks),
                       .sent = std::vector<comm::SentMessages>(ranks)};
    comm::LocalRun local = {
        .ranks = topology_.world_size(), .places = places_, .patience = {.limit = limit}};
    local.between = [&](std::unique_ptr<comm::Transport> inner) {
      const int rank = inner->rank();
      const comm::Plant plant = rank == where.rank ? comm::Plant{fault, where.message}
                                                   : comm::Plant{};
      return std::unique_ptr<comm::Transport>(std::make_unique<comm::FaultyTransport>(
          std::move(inner), plant, outcome.sent[static_cast<size_t>(rank)]));
    };
    try {
      comm::run_ranks(local, [&](comm::Port& port) {
        RankRun rank(port, model_, cut_);
        outcome.norms[static_cast<size_t>(port.rank())] = rank.trainer.step().gradient_norm;
        port.set_action("the end");
        port.finish(rank.session.stream());
      });
    } catch (const std::exception& error) {
      outcome.failure = error.what();
    }
    return outcome;
  }

  /// As in "rank 5 (p1 t0 d1)".
  [[nodiscard]] std::string name_of(int rank) const {
    return format("rank {} ({})", rank, places_[static_cast<size_t>(rank)]);
  }
  [[nodiscard]] std::string text_of(const comm::Header& header) const {
    return format("{}, from {} to {}", comm::text_of(header), name_of(header.from),
                  name_of(header.to));
  }
  /// As a rank's messages begin: "[rank 5 = p1 t0 d1]".
  [[nodiscard]] std::string place_of(int rank) const {
    return format("[rank {} = {}]", rank, places_[static_cast<size_t>(rank)]);
  }
  [[nodiscard]] int ranks() const { return topology_.world_size(); }

 private:
  Cut cut_ = {.p = 2, .t = 2, .d = 2, .scatter_gather = true, .reduction = {.bucket_elements = 600}};
  Model model_;
  parallel::Topology topology_;
  std::vector<std::string> places_;
};

}  // namespace trireme
