#include "engine/host_times.h"

namespace trireme::engine {

HostTimes& HostTimes::operator+=(const HostTimes& other) {
  actions += other.actions;
  for (size_t g = 0; g < kRankGroups; ++g) {
    exchanges[g].starting += other.exchanges[g].starting;
    exchanges[g].waiting += other.exchanges[g].waiting;
    exchanges[g].waits += other.exchanges[g].waits;
  }
  return *this;
}

HostTimes& HostTimes::operator-=(const HostTimes& other) {
  actions -= other.actions;
  for (size_t g = 0; g < kRankGroups; ++g) {
    exchanges[g].starting -= other.exchanges[g].starting;
    exchanges[g].waiting -= other.exchanges[g].waiting;
    exchanges[g].waits -= other.exchanges[g].waits;
  }
  return *this;
}

}  // namespace trireme::engine
