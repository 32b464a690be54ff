#include "bench/op_profile.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/format.h"
#include "core/table.h"
#include "program/op.h"

namespace trireme::bench {

void OpProfile::op(const engine::OpRecord& record) {
  seconds_[program::name_of(record.op.op->spec)] +=
      std::chrono::duration<double>(record.end - record.start).count();
}

double OpProfile::seconds() const {
  double total = 0;
  for (const auto& [name, time] : seconds_) total += time;
  return total;
}

std::string OpProfile::text(double turns, const std::string& per) const {
  std::vector<std::pair<double, std::string_view>> order;
  for (const auto& [name, time] : seconds_) order.emplace_back(time, name);
  std::sort(order.rbegin(), order.rend());
  TextTable table({{"op kind", TextTable::Align::left},
                   {"s per " + per, TextTable::Align::right},
                   {"share", TextTable::Align::right}});
  for (const auto& [time, name] : order) {
    table.row({std::string(name), format("{:.4f}", time / turns),
               format("{:.1f}%", 100 * time / seconds())});
  }
  return table.text(2);
}

}  // namespace trireme::bench
