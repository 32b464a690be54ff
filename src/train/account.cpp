#include "train/account.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "comm/gather_text.h"
#include "core/format.h"
#include "core/log.h"
#include "core/table.h"
#include "schedule/timeline.h"

namespace trireme::train {
namespace {

using program::Traffic;
using Json = nlohmann::ordered_json;

constexpr std::array<TimeShare, kTimeShares> kShares = {TimeShare::compute,  TimeShare::tensor,
                                                        TimeShare::pipeline, TimeShare::data,
                                                        TimeShare::bubble,   TimeShare::other};

double in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// Calls visit(group, traffic) for the complete list.
template <class Visit>
void for_each_kind(Visit visit) {
  for (size_t g = 0; g < kRankGroups; ++g) {
    for (size_t k = 0; k < program::kTraffics; ++k)
      visit(static_cast<RankGroup>(g), static_cast<Traffic>(k));
  }
}

int64_t sum_of(const model::WireBytes& bytes, RankGroup group) {
  int64_t sum = 0;
  for_each_kind([&](RankGroup of, Traffic traffic) {
    if (of == group) sum += bytes(of, traffic);
  });
  return sum;
}

Json json_of(const model::WireBytes& bytes) {
  Json json = Json::array();
  for_each_kind([&](RankGroup group, Traffic traffic) { json.push_back(bytes(group, traffic)); });
  return json;
}

model::WireBytes bytes_of(const Json& json) {
  model::WireBytes bytes;
  size_t i = 0;
  for_each_kind([&](RankGroup group, Traffic traffic) {
    bytes(group, traffic) = json.at(i++).get<int64_t>();
  });
  return bytes;
}

// What ranks agree on, and save, is outside the steps: as much as they have to say.
bool is_outside(RankGroup group, Traffic traffic) {
  return group == RankGroup::world && traffic == Traffic::agreement;
}

// Waiting in the groups that stages have in common is for messages on their way as long as these
// take by themselves, and else for a stage that is not yet there.
struct Joined {
  double pipeline = 0;
  double bubble = 0;
};

Joined share_out(const engine::Session& session, const engine::HostTimes& times) {
  Joined joined;
  const engine::Exchanges::Message& message = session.message();
  const double shortest = message.bytes > 0 ? in_seconds(message.shortest) : 0;
  const model::WireBytes sent = session.bytes_sent();
  for (const RankGroup group : {RankGroup::pipeline, RankGroup::tied, RankGroup::model}) {
    const engine::ExchangeTime& time = times.of(group);
    const double messages = group == RankGroup::pipeline
                                ? static_cast<double>(time.waits)
                                : static_cast<double>(sum_of(sent, group)) /
                                      static_cast<double>(std::max<int64_t>(1, message.bytes));
    const double waiting = in_seconds(time.waiting);
    const double own = std::min(waiting, messages * shortest);
    joined.pipeline += in_seconds(time.starting) + own;
    joined.bubble += waiting - own;
  }
  return joined;
}

}  // namespace

double RankAccount::total_seconds() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

double RankAccount::fraction(TimeShare share) const {
  const double total = total_seconds();
  return total > 0 ? (*this)[share] / total : 0;
}

RankAccount account_of(const engine::Session& session, const Trainer& trainer) {
  RankAccount account = {.sent = session.bytes_sent(), .planned = session.bytes_planned()};
  const engine::HostTimes& times = trainer.times();
  const auto exchanged = [&](RankGroup group) {
    return in_seconds(times.of(group).starting + times.of(group).waiting);
  };
  const auto share = [&](TimeShare of) -> double& {
    return account.seconds[static_cast<size_t>(of)];
  };
  share(TimeShare::tensor) = exchanged(RankGroup::tensor);
  share(TimeShare::data) = exchanged(RankGroup::data);
  if (session.plan().topology.pipeline() > 1) {
    const Joined joined = share_out(session, times);
    share(TimeShare::pipeline) = joined.pipeline;
    share(TimeShare::bubble) = joined.bubble;
  } else {
    share(TimeShare::tensor) += exchanged(RankGroup::model);
  }
  double others = 0;
  for (const TimeShare of :
       {TimeShare::tensor, TimeShare::pipeline, TimeShare::data, TimeShare::bubble})
    others += share(of);
  share(TimeShare::compute) = in_seconds(times.actions) - others;
  share(TimeShare::other) = trainer.seconds() - in_seconds(times.actions);
  return account;
}

RunAccount gather_account(const World& world, const engine::Session& session,
                          const Trainer& trainer) {
  const RankAccount own = account_of(session, trainer);
  const Json json = {
      {"seconds", own.seconds}, {"sent", json_of(own.sent)}, {"planned", json_of(own.planned)}};
  const model::RunPlan& plan = session.plan();
  RunAccount account = {.ideal_bubble = schedule::ideal_bubble(plan.topology.pipeline(),
                                                               plan.largest_batch().microbatches,
                                                               plan.layout.chunks_per_rank())};
  for (const std::string& text : comm::gather_texts(world.group, world.stream, json.dump())) {
    const Json of_rank = Json::parse(text);
    account.ranks.push_back(
        {.seconds = of_rank.at("seconds").get<std::array<double, kTimeShares>>(),
         .sent = bytes_of(of_rank.at("sent")),
         .planned = bytes_of(of_rank.at("planned"))});
    account.sent += account.ranks.back().sent;
    account.planned += account.ranks.back().planned;
  }
  return account;
}

bool RunAccount::bytes_are_as_planned() const {
  bool same = true;
  for_each_kind([&](RankGroup group, Traffic traffic) {
    same = same && (is_outside(group, traffic) || sent(group, traffic) == planned(group, traffic));
  });
  return same;
}

namespace {

// A share over the ranks.
struct Spread {
  double mean = 0;
  size_t least = 0;  // ranks
  size_t most = 0;
};

Spread spread_of(const std::vector<RankAccount>& ranks, TimeShare share) {
  Spread spread;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const double fraction = ranks[rank].fraction(share);
    spread.mean += fraction / static_cast<double>(ranks.size());
    if (fraction < ranks[spread.least].fraction(share)) spread.least = rank;
    if (fraction > ranks[spread.most].fraction(share)) spread.most = rank;
  }
  return spread;
}

std::string percent(double fraction) {
  return format("{:.1f}%", 100 * fraction);
}

std::string extreme(const std::vector<RankAccount>& ranks, TimeShare share, size_t rank) {
  return format("{} (rank {})", percent(ranks[rank].fraction(share)), rank);
}

using Align = TextTable::Align;

std::string time_table(const RunAccount& account) {
  TextTable table({{"time of the steps", Align::left},
                   {"mean", Align::right},
                   {"least", Align::right},
                   {"most", Align::right}});
  for (const TimeShare share : kShares) {
    const Spread spread = spread_of(account.ranks, share);
    if (account.ranks[spread.most][share] == 0) continue;  // there is no such group
    table.row({std::string(name_of(share)), percent(spread.mean),
               extreme(account.ranks, share, spread.least),
               extreme(account.ranks, share, spread.most)});
  }
  std::string text = table.text(2);
  if (account.ideal_bubble > 0) {
    text += format("  equal stages would have a bubble of {}: (p - 1)/(v m) of the rest\n",
                   percent(account.ideal_bubble / (1 + account.ideal_bubble)));
  }
  return text;
}

std::string bytes_table(const RunAccount& account) {
  TextTable table({{"bytes sent by all ranks", Align::left},
                   {"", Align::left},
                   {"counted", Align::right},
                   {"", Align::right},
                   {"planned", Align::right}});
  for_each_kind([&](RankGroup group, Traffic traffic) {
    const int64_t sent = account.sent(group, traffic);
    const int64_t planned = account.planned(group, traffic);
    if (sent == 0 && planned == 0) return;
    table.row({std::string(trireme::name_of(group)), std::string(program::name_of(traffic)),
               format("{}", sent), bytes_text(static_cast<double>(sent)),
               is_outside(group, traffic) ? "outside steps"
               : sent == planned          ? "the same"
                                          : format("{}", planned)});
  });
  return table.text(2);
}

}  // namespace

std::string RunAccount::text() const {
  if (ranks.size() == 1) {
    return format("time of the steps: {} compute, {} between actions\n",
                  percent(ranks[0].fraction(TimeShare::compute)),
                  percent(ranks[0].fraction(TimeShare::other)));
  }
  return time_table(*this) + bytes_table(*this);
}

std::string RunAccount::json(int64_t iteration) const {
  Json time = Json::object();
  for (const TimeShare share : kShares) {
    const Spread spread = spread_of(ranks, share);
    time[std::string(name_of(share))] = {{"mean", spread.mean},
                                         {"least", ranks[spread.least].fraction(share)},
                                         {"most", ranks[spread.most].fraction(share)}};
  }
  Json bytes = Json::array();
  for_each_kind([&](RankGroup group, Traffic traffic) {
    if (sent(group, traffic) == 0 && planned(group, traffic) == 0) return;
    Json one = {{"group", trireme::name_of(group)},
                {"traffic", program::name_of(traffic)},
                {"sent", sent(group, traffic)}};
    if (!is_outside(group, traffic)) one["planned"] = planned(group, traffic);
    bytes.push_back(std::move(one));
  });
  return Json{{"iteration", iteration},
              {"ranks", ranks.size()},
              {"time", time},
              {"ideal_bubble", ideal_bubble},
              {"bytes_sent", bytes}}
      .dump();
}

}  // namespace trireme::train
