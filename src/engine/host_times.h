#pragma once
#include <array>
#include <chrono>
#include <cstdint>

#include "core/ids.h"

namespace trireme::engine {

/// Host time that exchanges of one group took.
struct ExchangeTime {
  std::chrono::nanoseconds starting = {};  ///< starts, which move on what is under way
  std::chrono::nanoseconds waiting = {};
  int64_t waits = 0;  ///< that found their exchange not complete
};

/// Where the host time of a session went.
struct HostTimes {
  std::chrono::nanoseconds actions = {};                 ///< in actions, exchanges included
  std::array<ExchangeTime, kRankGroups> exchanges = {};  ///< in actions and between them

  [[nodiscard]] const ExchangeTime& of(RankGroup group) const {
    return exchanges[static_cast<size_t>(group)];
  }
  HostTimes& operator+=(const HostTimes& other);
  HostTimes& operator-=(const HostTimes& other);
};

}  // namespace trireme::engine
