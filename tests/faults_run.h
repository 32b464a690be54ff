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
#include "eight_ranks.h"

namespace trireme {

/// Where a message is among all of a step.
struct Planted {
  int rank = 0;  ///< its sender
  uint64_t message = 0;
};

/// A step of all eight.
class FaultyStep {
 public:
  struct Outcome {
    std::string failure;                   ///< the first cause; empty: none
    Tensors state;                         ///< behind the step, whole
    std::vector<comm::SentMessages> sent;  ///< by rank
  };

  [[nodiscard]] Outcome run(Planted where, comm::Fault fault,
                            std::chrono::milliseconds limit) const {
    const auto ranks = static_cast<size_t>(EightRanks::kRanks);
    Outcome outcome = {.sent = std::vector<comm::SentMessages>(ranks)};
    std::mutex mutex;
    comm::LocalRun local = {
        .ranks = EightRanks::kRanks, .places = eight_.places, .patience = {.limit = limit}};
    local.between = [&](std::unique_ptr<comm::Transport> inner) {
      const int rank = inner->rank();
      const comm::Plant plant =
          rank == where.rank ? comm::Plant{fault, where.message} : comm::Plant{};
      return std::unique_ptr<comm::Transport>(std::make_unique<comm::FaultyTransport>(
          std::move(inner), plant, outcome.sent[static_cast<size_t>(rank)]));
    };
    try {
      comm::run_ranks(local, [&](comm::Port& port) {
        RankRun rank(port, eight_.model, eight_.cut);
        static_cast<void>(rank.trainer.step());
        port.set_action("the end");
        port.finish(rank.session.stream());
        const std::lock_guard lock(mutex);
        put_tensors(rank.session,
                    {TensorState::parameter, TensorState::gradient, TensorState::first_moment,
                     TensorState::second_moment},
                    outcome.state);
      });
    } catch (const std::exception& error) {
      outcome.failure = error.what();
    }
    return outcome;
  }

  [[nodiscard]] std::string text_of(const comm::Header& header) const {
    return format("{}, from {} to {}", comm::text_of(header), eight_.name_of(header.from),
                  eight_.name_of(header.to));
  }
  [[nodiscard]] const EightRanks& eight() const { return eight_; }

 private:
  EightRanks eight_;
};

/// Plants a fault in messages of a step, in one after the other, in several worlds at once: most of
/// their ranks wait.
class PlantedFaults {
 public:
  struct Found {
    const FaultyStep::Outcome& clean;
    const FaultyStep::Outcome& outcome;
    const comm::Header& planted;
  };

  /// all: of all messages; otherwise the first of every kind there is.
  explicit PlantedFaults(bool all) : clean_(step_.run({}, comm::Fault::none, kPlenty)) {
    EXPECT_EQ(clean_.failure, "");
    std::set<std::tuple<comm::Verb, comm::Traffic, int, bool>> kinds;
    for (int rank = 0; rank < EightRanks::kRanks; ++rank) {
      const std::vector<comm::Header>& headers = sent_by(rank);
      for (uint64_t message = 0; message < headers.size(); ++message) {
        const comm::Header& header = headers[message];
        // What goes wrong in the last meeting, nobody is left to see.
        if (header.traffic == comm::Traffic::agreement) continue;
        const bool crosses_stages = (header.from < 4) != (header.to < 4);
        const bool is_new =
            kinds.emplace(header.verb, header.traffic, header.lane, crosses_stages).second;
        if (all || is_new) places_.push_back({rank, message});
      }
    }
  }

  void with_each(comm::Fault fault, std::chrono::milliseconds limit,
                 const std::function<void(const Found& found)>& check) const {
    std::mutex mutex;
    size_t next = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 6; ++thread) {
      threads.emplace_back([&] {
        for (;;) {
          Planted where;
          {
            const std::lock_guard lock(mutex);
            if (next == places_.size()) return;
            where = places_[next++];
          }
          const FaultyStep::Outcome outcome = step_.run(where, fault, limit);
          const std::lock_guard lock(mutex);
          // Messages of different groups overtake each other: which one it was, that run says.
          const std::vector<comm::Header>& sent =
              outcome.sent[static_cast<size_t>(where.rank)].headers;
          if (sent.size() <= where.message) {
            ADD_FAILURE() << "no message was planted: " << outcome.failure;
            continue;
          }
          const comm::Header& planted = sent[where.message];
          SCOPED_TRACE(format("{}\nfailure: {}", step_.text_of(planted), outcome.failure));
          check({clean_, outcome, planted});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  [[nodiscard]] size_t size() const { return places_.size(); }

  void expect_same_bits_when_delayed() const {
    with_each(comm::Fault::delay, kPlenty, [](const Found& found) {
      EXPECT_EQ(found.outcome.failure, "");
      EXPECT_TRUE(found.outcome.state == found.clean.state);
    });
  }

  // The next message of the same queue shows that one is missing; otherwise somebody's patience
  // ends. Whoever began to wait first speaks, and may wait for one that waits itself; so one of all
  // that are named is an end of the lost message that waits for the other end.
  void expect_waits_named_when_dropped() const {
    with_each(comm::Fault::drop, std::chrono::milliseconds(700), [&](const Found& found) {
      const std::string& text = found.outcome.failure;
      if (has(text, "so one is missing")) {
        expect_both_ends(found);
        return;
      }
      EXPECT_TRUE(has(text, " waiting in "));
      EXPECT_TRUE(has(text, "still not here: "));
      const auto waits = [&](int rank, int for_whom) {
        for (const std::string& line : lines_of(text)) {
          const bool is_its =
              line.find(step_.eight().place_of(rank)) == 0 ||
              line.find("  " + step_.eight().name_of(rank) + " was waiting in ") == 0;
          if (is_its && has(line, step_.eight().name_of(for_whom))) return true;
        }
        return false;
      };
      EXPECT_TRUE(waits(found.planted.to, found.planted.from) ||
                  waits(found.planted.from, found.planted.to));
    });
  }

  void expect_refused_when_doubled() const {
    with_each(comm::Fault::twice, kPlenty, [&](const Found& found) {
      const std::string& text = found.outcome.failure;
      EXPECT_TRUE(has(text, "it came twice") || has(text, "which nobody asked for"));
      expect_both_ends(found);
      EXPECT_TRUE(has(text, format("message {}: ", found.planted.sequence)));
    });
  }

  void expect_refused_when_misrouted() const {
    for (const comm::Fault fault : {comm::Fault::to_other_rank, comm::Fault::to_other_lane}) {
      with_each(fault, kPlenty, [&](const Found& found) {
        // Unless its receiver is the first to notice.
        EXPECT_TRUE(has(found.outcome.failure, "came here") ||
                    has(found.outcome.failure, "so one is missing"));
        expect_both_ends(found);
      });
    }
  }

 private:
  static constexpr std::chrono::milliseconds kPlenty{60'000};

  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines(1);
    for (const char character : text) {
      if (character == '\n') {
        lines.emplace_back();
      } else {
        lines.back() += character;
      }
    }
    return lines;
  }
  void expect_both_ends(const Found& found) const {
    for (const int end : {found.planted.from, found.planted.to})
      EXPECT_TRUE(has(found.outcome.failure, step_.eight().name_of(end)));
    EXPECT_TRUE(has(found.outcome.failure, std::string(name_of(found.planted.verb))));
  }
  [[nodiscard]] const std::vector<comm::Header>& sent_by(int rank) const {
    return clean_.sent[static_cast<size_t>(rank)].headers;
  }

  FaultyStep step_;
  FaultyStep::Outcome clean_;
  std::vector<Planted> places_;
};

}  // namespace trireme
