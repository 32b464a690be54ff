#include "model/buckets.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/error.h"

namespace trireme::model {
namespace {

using program::Program;
using program::ValueKind;

// Where in a backward something is complete; instances are visited in reverse.
struct Moment {
  int instance = -1;
  int op = -1;
  [[nodiscard]] bool before(const Moment& other) const {
    return std::make_tuple(-instance, op) < std::make_tuple(-other.instance, other.op);
  }
};

// The last op that adds to each gradient, by tensor.
std::map<int, Moment> completions(const Program& program) {
  std::map<int, Moment> last;
  for (auto i = static_cast<int>(program.instances.size()); i-- > 0;) {
    const program::Instance& instance = program.instances[static_cast<size_t>(i)];
    const program::Block& block = program.blocks[static_cast<size_t>(instance.block)];
    for (size_t op = 0; op < block.backward.size(); ++op) {
      for (const int v : block.backward[op].values) {
        if (v == program::kNoValue) continue;
        if (block.values[static_cast<size_t>(v)].kind == ValueKind::gradient)
          last[instance.bindings[static_cast<size_t>(v)]] = {i, static_cast<int>(op)};
      }
    }
  }
  return last;
}

// A gradient's place in the arena and when it is complete.
struct Range {
  int64_t begin = 0;  // bytes
  int64_t end = 0;
  Moment complete;
  bool tied = false;
};

// Gradients that lie one behind the other, all tied or none, cut from their end.
void cut(const std::vector<Range>& run, int chunk, int64_t bucket_bytes,
         std::vector<Bucket>& buckets) {
  const int64_t begin = run.front().begin;
  for (int64_t end = run.back().end; end > begin; end -= bucket_bytes) {
    const int64_t first = std::max(begin, end - bucket_bytes);
    Bucket bucket = {.offset = first, .elements = (end - first) / 4, .chunk = chunk};
    if (!run.front().tied) {
      Moment complete = {.instance = 1 << 30};
      for (const Range& range : run) {
        if (range.end > first && range.begin < end && complete.before(range.complete))
          complete = range.complete;
      }
      bucket.instance = complete.instance;
      bucket.op = complete.op;
    }
    buckets.push_back(bucket);
  }
}

}  // namespace

std::vector<Bucket> gradient_buckets(const std::vector<Program>& programs,
                                     const parallel::TensorTable& table, const LocalTensors& local,
                                     const ReductionRules& rules) {
  // Multiples of the tensors' alignment.
  const int64_t bucket_bytes = std::max<int64_t>(64, rules.bucket_elements * 4 / 64 * 64);
  std::vector<Bucket> buckets;
  for (size_t chunk = 0; chunk < programs.size(); ++chunk) {
    std::vector<Range> ranges;
    for (const auto& [number, complete] : completions(programs[chunk])) {
      const TensorId id{number};
      const LocalTensor& tensor = local[id];
      if (tensor.alias) continue;
      ranges.push_back({.begin = tensor.gradient_offset,
                        .end = tensor.gradient_offset + tensor.elements() * 4,
                        .complete = complete,
                        .tied = table.is_tied(id)});
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    const size_t first = buckets.size();
    std::vector<Range> run;
    for (const Range& range : ranges) {
      // What lies between two tensors is the rest of an alignment.
      const bool goes_on =
          !run.empty() && run.front().tied == range.tied && range.begin - run.back().end < 64;
      if (!run.empty() && !goes_on) {
        cut(run, static_cast<int>(chunk), bucket_bytes, buckets);
        run.clear();
      }
      run.push_back(range);
    }
    if (!run.empty()) cut(run, static_cast<int>(chunk), bucket_bytes, buckets);
    std::stable_sort(buckets.begin() + static_cast<ptrdiff_t>(first), buckets.end(),
                     [](const Bucket& a, const Bucket& b) {
                       return Moment{a.instance, a.op}.before(Moment{b.instance, b.op});
                     });
  }
  // Tied ones are complete last of all.
  std::stable_partition(buckets.begin(), buckets.end(),
                        [](const Bucket& bucket) { return !bucket.is_tied(); });
  return buckets;
}

}  // namespace trireme::model
