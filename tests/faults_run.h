#pragma once
// A training step of several ranks in which one message comes to grief.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "comm/lanes.h"
#include "comm/record/faulty_transport.h"
#include "core/error.h"
#include "cut_ranks.h"

namespace trireme {

/// Where a message is among all of a step.
struct Planted {
  int rank = 0;  ///< its sender
  uint64_t message = 0;
};

/// A step of all ranks.
class FaultyStep {
 public:
  explicit FaultyStep(CutRanks ranks) : ranks_(std::move(ranks)) {}

  struct Outcome {
    std::string failure;                   ///< the first cause; empty: none
    Tensors state;                         ///< behind the step, whole
    std::vector<comm::SentMessages> sent;  ///< by rank
  };

  [[nodiscard]] Outcome run(Planted where, comm::Fault fault,
                            std::chrono::milliseconds limit) const {
    Outcome outcome = {.sent = std::vector<comm::SentMessages>(ranks_.places.size())};
    std::mutex mutex;
    comm::LocalRun local = {
        .ranks = ranks_.cut.ranks(), .places = ranks_.places, .patience = {.limit = limit}};
    local.between = [&](std::unique_ptr<comm::Transport> inner) {
      const int rank = inner->rank();
      const comm::Plant plant =
          rank == where.rank ? comm::Plant{fault, where.message} : comm::Plant{};
      return std::unique_ptr<comm::Transport>(std::make_unique<comm::FaultyTransport>(
          std::move(inner), plant, outcome.sent[static_cast<size_t>(rank)]));
    };
    try {
      comm::run_ranks(local, [&](comm::Port& port) {
        RankRun rank(port, ranks_.model, ranks_.cut);
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
    return format("{}, from {} to {}", comm::text_of(header), ranks_.name_of(header.from),
                  ranks_.name_of(header.to));
  }
  [[nodiscard]] const CutRanks& ranks() const { return ranks_; }

 private:
  CutRanks ranks_;
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

  /// all: of all messages; otherwise the last of every kind there is, behind which nothing comes
  /// that would show that it is missing.
  PlantedFaults(const CutRanks& ranks, bool all)
      : step_(ranks), clean_(step_.run({}, comm::Fault::none, kPlenty)) {
    EXPECT_EQ(clean_.failure, "");
    const auto stage_of = [&](int rank) { return ranks.at(rank).pipeline; };
    std::map<std::tuple<comm::Verb, comm::Traffic, int, int>, Planted> kinds;
    for (int rank = 0; rank < ranks.cut.ranks(); ++rank) {
      const model::RunPlan plan = model::plan_run(request_of(ranks.model, ranks.cut, rank));
      for (const schedule::Action& action : plan.largest_batch().schedule.actions)
        actions_[rank].insert(action.text());
      const std::vector<comm::Header>& headers = sent_by(rank);
      for (uint64_t message = 0; message < headers.size(); ++message) {
        const comm::Header& header = headers[message];
        // What goes wrong in the last meeting, nobody is left to see.
        if (header.traffic == comm::Traffic::agreement) continue;
        const int stages = stage_of(header.to) - stage_of(header.from);
        kinds[{header.verb, header.traffic, header.lane, stages}] = {rank, message};
        if (all) places_.push_back({rank, message});
      }
    }
    for (const auto& [kind, place] : kinds) {
      if (!all) places_.push_back(place);
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
  // that are named is an end of the lost message that waits for the other end, in an action of its
  // schedule.
  void expect_waits_named_when_dropped() const {
    size_t waits = 0;
    with_each(comm::Fault::drop, std::chrono::milliseconds(700), [&](const Found& found) {
      const std::string& text = found.outcome.failure;
      if (has(text, "so one is missing")) {
        expect_both_ends(found);
        return;
      }
      ++waits;
      EXPECT_TRUE(has(text, "still not here: "));
      const comm::Header& lost = found.planted;
      EXPECT_TRUE(says_wait(text, lost, lost.to, lost.from) ||
                  says_wait(text, lost, lost.from, lost.to));
    });
    EXPECT_GE(3 * waits, size());
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

  // The action in which a rank waits for the other end of the lost message, by its line; empty
  // where it does not.
  [[nodiscard]] std::string action_of_wait(const std::string& text, const comm::Header& lost,
                                           int rank, int for_whom) const {
    for (const std::string& line : lines_of(text)) {
      // The one whose patience ended begins; lines of the others are below.
      for (const auto& [begin, end] :
           {std::pair(step_.ranks().place_of(rank) + " waiting in ", std::string(": ")),
            std::pair("  " + step_.ranks().name_of(rank) + " was waiting in ",
                      std::string(" for "))}) {
        if (line.find(begin) != 0) continue;
        const size_t at = line.find(end, begin.size());
        if (at == std::string::npos || !has(line.substr(at), step_.ranks().name_of(for_whom)) ||
            !has(line.substr(at), std::string(lost.what.text())))
          continue;
        return line.substr(begin.size(), at - begin.size());
      }
    }
    return "";
  }

  [[nodiscard]] bool says_wait(const std::string& text, const comm::Header& lost, int rank,
                               int for_whom) const {
    const std::string action = action_of_wait(text, lost, rank, for_whom);
    if (actions_.at(rank).count(action) == 0) return false;
    if (lost.traffic == comm::Traffic::tied) return action == "reduce_wait";
    if (lost.traffic == comm::Traffic::norm) return action == "step";
    if (lost.verb != comm::Verb::send || rank != lost.to) return true;
    // Between stages: its receiver needs it there. The label has the virtual stage that made it.
    return action == needed_by(lost.what.text());
  }

  // Over two ranks "1F3" goes to stage 2, the second chunk of the first rank: it needs it in "1F3".
  [[nodiscard]] std::string needed_by(std::string_view label) const {
    const size_t kind = label.find_first_of("FB");
    const int made_by = std::stoi(std::string(label.substr(0, kind)));
    const int stage = made_by + (label[kind] == 'F' ? 1 : -1);
    return format("{}{}", stage / step_.ranks().cut.p, label.substr(kind));
  }

  void expect_both_ends(const Found& found) const {
    for (const int end : {found.planted.from, found.planted.to})
      EXPECT_TRUE(has(found.outcome.failure, step_.ranks().name_of(end)));
    EXPECT_TRUE(has(found.outcome.failure, std::string(name_of(found.planted.verb))));
  }
  [[nodiscard]] const std::vector<comm::Header>& sent_by(int rank) const {
    return clean_.sent[static_cast<size_t>(rank)].headers;
  }

  FaultyStep step_;
  FaultyStep::Outcome clean_;
  std::vector<Planted> places_;
  std::map<int, std::set<std::string>> actions_;  // by rank, of its schedule
};

}  // namespace trireme
