#include "train/verify_exchange.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "comm/gather_text.h"
#include "core/error.h"

namespace trireme::train {
namespace {

using engine::TensorState;

// A message is no longer than this many numbers (64 MiB), whatever transport it takes.
constexpr size_t kMostNumbers = size_t{1} << 24;

model::LocalTensors tensors_of(const model::RunPlan& plan, int rank) {
  const parallel::Coordinates at = plan.topology.coordinates(Rank{rank});
  return model::local_tensors(plan.table, plan.layout.chunks(at.pipeline), plan.topology, at);
}

// The largest absolute value of the whole, and the slice of it.
void cut_out(const Shape& shape, const parallel::Slice& slice, std::span<const float> whole,
             float largest, std::vector<float>& out) {
  const int rank = shape.rank();
  const int64_t rows = rank == 2 ? slice.extent[0] : 1;
  const int64_t first_row = rank == 2 ? slice.offset[0] : 0;
  const int64_t columns = slice.extent[rank - 1];
  out.assign(1, largest);
  for (int64_t row = 0; row < rows; ++row) {
    const auto from = whole.begin() + (first_row + row) * shape[rank - 1] + slice.offset[rank - 1];
    out.insert(out.end(), from, from + columns);
  }
}

float largest_of(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

std::vector<ValueKey> keys_in(const std::string& text) {
  std::istringstream lines(text);
  std::vector<ValueKey> keys;
  for (std::string line; std::getline(lines, line);) keys.push_back(ValueKey::parse(line));
  return keys;
}

// Samples of the keys, one behind the other, each behind its largest absolute value; a negative
// one says that there is none.
std::vector<float> pack(const std::vector<ValueKey>& keys,
                        const std::map<ValueKey, ValueSample>& values) {
  std::vector<float> packed;
  for (const ValueKey& key : keys) {
    const auto found = values.find(key);
    packed.push_back(found == values.end() ? -1 : found->second.largest);
    const auto samples = static_cast<size_t>(ValueRecorder::samples_of(key.elements));
    if (found == values.end()) {
      packed.resize(packed.size() + samples);
    } else {
      packed.insert(packed.end(), found->second.samples.begin(), found->second.samples.end());
    }
  }
  return packed;
}

size_t packed_size(const std::vector<ValueKey>& keys) {
  size_t size = 0;
  for (const ValueKey& key : keys)
    size += 1 + static_cast<size_t>(ValueRecorder::samples_of(key.elements));
  return size;
}

}  // namespace

void VerifyExchange::tensors(TensorState state,
                             const std::function<void(TensorId, const Part&)>& receive_one) {
  const bool is_first = world_.rank() == 0;
  std::vector<model::LocalTensors> local;  // of the ranks that this one sends to; its own
  for (int rank = 0; rank < world_.size(); ++rank) {
    local.push_back(is_first || rank == world_.rank() ? tensors_of(plan_, rank)
                                                      : model::LocalTensors());
  }
  const auto holds = [&](int rank, TensorId id) {
    const model::LocalTensors& tensors = local[static_cast<size_t>(rank)];
    return tensors.holds(id) && !tensors[id].alias;
  };
  const auto slice = [&](int rank, TensorId id) -> const parallel::Slice& {
    return local[static_cast<size_t>(rank)][id].slice;
  };
  std::vector<float> whole;
  std::vector<float> part;
  for (int i = 0; i < plan_.table.size(); ++i) {
    const TensorId id{i};
    const parallel::Tensor& tensor = plan_.table[id];
    if (is_first) {
      whole.resize(static_cast<size_t>(tensor.shape.elements()));
      reference_->read_tensor(tensor.tied_to.value_or(id), state, whole);
      const float largest = largest_of(whole);
      for (int rank = 1; rank < world_.size(); ++rank) {
        if (!holds(rank, id)) continue;
        cut_out(tensor.shape, slice(rank, id), whole, largest, part);
        send(rank, part);
      }
      if (!holds(0, id)) continue;
      cut_out(tensor.shape, slice(0, id), whole, largest, part);
    } else {
      if (!holds(world_.rank(), id)) continue;
      part.resize(1 + static_cast<size_t>(slice(world_.rank(), id).extent.elements()));
      receive(part);
    }
    receive_one(id, {.largest = part[0], .slice = std::span<const float>(part).subspan(1)});
  }
}

void VerifyExchange::values(
    const std::map<ValueKey, ValueSample>& own, const std::map<ValueKey, ValueSample>* reference,
    const std::function<void(const ValueKey&, const ValueSample&)>& receive_one) {
  std::string asked;
  for (const auto& [key, sample] : own) asked += key.text() + "\n";
  const std::vector<std::string> texts = comm::gather_texts(world_, stream_, asked);
  const std::vector<ValueKey> keys = keys_in(texts[static_cast<size_t>(world_.rank())]);
  std::vector<float> packed(packed_size(keys));
  if (world_.rank() == 0) {
    for (int rank = 1; rank < world_.size(); ++rank)
      send(rank, pack(keys_in(texts[static_cast<size_t>(rank)]), *reference));
    packed = pack(keys, *reference);
  } else {
    receive(packed);
  }
  auto at = packed.begin();
  for (const ValueKey& key : keys) {
    ValueSample sample = {.largest = *at++};
    const auto end = at + ValueRecorder::samples_of(key.elements);
    if (sample.largest >= 0) {
      sample.samples.assign(at, end);
      receive_one(key, sample);
    }
    at = end;
  }
}

void VerifyExchange::send(int rank, std::span<const float> numbers) {
  exchange(numbers.size(), [&](size_t from, size_t count) {
    return world_.start_send(stream_, rank, numbers.data() + from,
                             static_cast<int64_t>(count * sizeof(float)), comm::Traffic::parameter);
  });
}

void VerifyExchange::receive(std::span<float> numbers) {
  exchange(numbers.size(), [&](size_t from, size_t count) {
    return world_.start_receive(stream_, 0, numbers.data() + from,
                                static_cast<int64_t>(count * sizeof(float)),
                                comm::Traffic::parameter);
  });
}

void VerifyExchange::exchange(size_t numbers,
                              const std::function<comm::Request(size_t, size_t)>& start) {
  try {
    for (size_t from = 0; from < numbers; from += kMostNumbers)
      world_.wait(start(from, std::min(kMostNumbers, numbers - from)), stream_);
  } catch (...) {
    world_.withdraw();  // from a buffer that goes with the caller
    throw;
  }
}

}  // namespace trireme::train
