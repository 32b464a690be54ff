#pragma once
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "comm/local/run.h"
#include "comm/order.h"
#include "device/cpu/cpu_device.h"

namespace trireme::comm::testing {

/// A rank of a test: its door, and a stream to order exchanges by.
struct Member {
  explicit Member(Port& its_port) : port(its_port), device(1), stream(device.make_stream()) {}
  Port& port;
  device::CpuDevice device;
  std::unique_ptr<device::Stream> stream;

  void wait(Communicator& group, Request request) { group.wait(request, *stream); }
};

inline constexpr std::chrono::seconds kLong{60};

inline void run_members(LocalRun run, const std::function<void(Member& member)>& body) {
  if (run.patience.limit == Patience().limit) run.patience.limit = kLong;
  run_ranks(run, [&](Port& port) {
    Member member(port);
    body(member);
  });
}
inline void run_members(int ranks, const std::function<void(Member& member)>& body) {
  run_members(LocalRun{.ranks = ranks}, body);
}

/// What a rank of the world has at the start of an exchange: of every size, so that the order of
/// sums shows in the bits.
inline float value_of(int rank, uint64_t exchange, int64_t element) {
  uint64_t mixed = (static_cast<uint64_t>(rank) * 0x9e3779b97f4a7c15u) ^
                   (exchange * 0xbf58476d1ce4e5b9u) ^
                   (static_cast<uint64_t>(element) * 0x94d049bb133111ebu);
  mixed ^= mixed >> 31;
  mixed *= 0xd6e8feb86659fd93u;
  mixed ^= mixed >> 32;
  const auto mantissa = static_cast<float>(static_cast<int32_t>(mixed & 0xffffff) - 0x800000);
  const float scale = static_cast<float>(uint64_t{1} << (mixed >> 24 & 15));
  return mantissa * scale;
}

inline std::vector<float> values_of(int rank, uint64_t exchange, int64_t elements) {
  std::vector<float> list(static_cast<size_t>(elements));
  for (int64_t i = 0; i < elements; ++i) list[static_cast<size_t>(i)] = value_of(rank, exchange, i);
  return list;
}

/// What a collective leaves in a member's buffer, said again in plain loops. ranks: of the world,
/// in the group's order; own: the member's place among them.
inline std::vector<float> expected_of(Verb verb, program::Reduction reduction,
                                      const std::vector<int>& ranks, int own, uint64_t exchange,
                                      int64_t elements, std::vector<int64_t> cuts = {}) {
  const auto size = static_cast<int>(ranks.size());
  if (cuts.empty()) {
    for (int r = 0; r <= size; ++r) cuts.push_back(cut(elements * 4, size, r));
  }
  std::vector<float> list = values_of(ranks[static_cast<size_t>(own)], exchange, elements);
  for (int owner = 0; owner < size; ++owner) {
    if (verb == Verb::reduce_scatter && owner != own) continue;
    const int64_t end = cuts[static_cast<size_t>(owner) + 1] / 4;
    for (int64_t i = cuts[static_cast<size_t>(owner)] / 4; i < end; ++i) {
      if (verb == Verb::all_gather) {
        list[static_cast<size_t>(i)] = value_of(ranks[static_cast<size_t>(owner)], exchange, i);
        continue;
      }
      float joined = value_of(ranks[0], exchange, i);
      for (int r = 1; r < size; ++r) {
        const float next = value_of(ranks[static_cast<size_t>(r)], exchange, i);
        if (reduction == program::Reduction::sum) {
          joined += next;
        } else if (next > joined) {
          joined = next;
        }
      }
      list[static_cast<size_t>(i)] = joined;
    }
  }
  return list;
}

/// The first element whose bits differ; -1: none.
inline int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]))
      return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace trireme::comm::testing
