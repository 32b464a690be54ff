#include "train/verify/exchange.h"

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
// Tensors go together up to so many elements: small ones need few messages.
constexpr int64_t kGroupElements = 1 << 22;

model::LocalTensors tensors_of(const model::RunPlan& plan, int rank) {
  const parallel::Coordinates at = plan.topology.coordinates(Rank{rank});
  return model::local_tensors(plan.table, plan.layout.chunks(at.pipeline), plan.topology, at);
}

bool holds(const model::LocalTensors& tensors, TensorId id) {
  return tensors.holds(id) && !tensors[id].alias;
}

void append_slice(const Shape& shape, const parallel::Slice& slice, const std::vector<float>& whole,
                  std::vector<float>& out) {
  const int rank = shape.rank();
  const int64_t rows = rank == 2 ? slice.extent[0] : 1;
  const int64_t first_row = rank == 2 ? slice.offset[0] : 0;
  for (int64_t row = 0; row < rows; ++row) {
    const auto from = whole.begin() + (first_row + row) * shape[rank - 1] + slice.offset[rank - 1];
    out.insert(out.end(), from, from + slice.extent[rank - 1]);
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

VerifyExchange::VerifyExchange(comm::Communicator& world, device::Stream& stream,
                               const model::RunPlan& plan, engine::Session* reference)
    : world_(world), stream_(stream), plan_(plan), reference_(reference) {
  for (int rank = 0; rank < world.size(); ++rank) {
    local_.push_back(world.rank() == 0 || rank == world.rank() ? tensors_of(plan, rank)
                                                               : model::LocalTensors());
  }
}

void VerifyExchange::tensors(TensorState state,
                             const std::function<void(TensorId, const Part&)>& receive_one) {
  const int own = world_.rank();
  std::vector<std::vector<float>> whole;  // of the group of tensors, on the first rank
  std::vector<float> parts;               // of one rank, one tensor behind the other
  for (int from = 0, to; from < plan_.table.size(); from = to) {
    to = group_end(from);
    if (own == 0) {
      read_whole(state, from, to, whole);
      for (int rank = 1; rank < world_.size(); ++rank) {
        cut_out(local_[static_cast<size_t>(rank)], from, whole, parts);
        send(rank, parts);
      }
      cut_out(local_[0], from, whole, parts);
    } else {
      parts.resize(part_numbers(from, to));
      receive(parts);
    }
    std::span<const float> rest = parts;
    for (int i = from; i < to; ++i) {
      const TensorId id{i};
      if (!holds(local_[static_cast<size_t>(own)], id)) continue;
      const auto elements = static_cast<size_t>(plan_.local[id].slice.extent.elements());
      receive_one(id, {.largest = rest[0], .slice = rest.subspan(1, elements)});
      rest = rest.subspan(1 + elements);
    }
  }
}

int VerifyExchange::group_end(int from) const {
  int64_t elements = 0;
  int end = from;
  do {
    elements += plan_.table[TensorId{end++}].shape.elements();
  } while (end < plan_.table.size() &&
           elements + plan_.table[TensorId{end}].shape.elements() <= kGroupElements);
  return end;
}

void VerifyExchange::read_whole(TensorState state, int from, int to,
                                std::vector<std::vector<float>>& whole) const {
  whole.resize(static_cast<size_t>(to - from));
  for (int i = from; i < to; ++i) {
    const parallel::Tensor& tensor = plan_.table[TensorId{i}];
    std::vector<float>& values = whole[static_cast<size_t>(i - from)];
    values.resize(static_cast<size_t>(tensor.shape.elements()));
    reference_->read_tensor(tensor.tied_to.value_or(TensorId{i}), state, values);
  }
}

void VerifyExchange::cut_out(const model::LocalTensors& local, int from,
                             const std::vector<std::vector<float>>& whole,
                             std::vector<float>& parts) const {
  parts.clear();
  for (size_t i = 0; i < whole.size(); ++i) {
    const TensorId id{from + static_cast<int>(i)};
    if (!holds(local, id)) continue;
    parts.push_back(largest_of(whole[i]));
    append_slice(plan_.table[id].shape, local[id].slice, whole[i], parts);
  }
}

size_t VerifyExchange::part_numbers(int from, int to) const {
  size_t numbers = 0;
  for (int i = from; i < to; ++i) {
    const TensorId id{i};
    if (!holds(local_[static_cast<size_t>(world_.rank())], id)) continue;
    numbers += 1 + static_cast<size_t>(plan_.local[id].slice.extent.elements());
  }
  return numbers;
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
