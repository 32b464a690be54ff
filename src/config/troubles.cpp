#include "config/troubles.h"

#include <algorithm>

#include "core/format.h"

namespace trireme::config {

void Troubles::tell(const std::string& command) const {
  if (list_.empty()) return;
  if (list_.size() == 1) fail_usage(list_.front());
  const std::string& first = list_.front().where;
  const bool one_place =
      std::all_of(list_.begin(), list_.end(), [&](const Trouble& t) { return t.where == first; });
  const std::string where = one_place ? first : command;
  std::string lines;
  for (Trouble trouble : list_) {
    if (trouble.where == where) trouble.where.clear();
    lines += "\n  " + text_of(trouble);
  }
  fail_usage({.where = where, .what = format("{} things to change{}", list_.size(), lines)});
}

}  // namespace trireme::config
