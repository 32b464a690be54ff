#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "core/error.h"
#include "core/random.h"
#include "ops/kernel.h"
#include "ops/testing/case.h"

namespace trireme::ops::testing {
namespace {

RandomStream stream_of(int operand) {
  return {.seed = 2021, .site = RandomSite::init_fc1, .layer = static_cast<uint32_t>(operand)};
}

// Normals come from a table, so that a large operand fills in no time.
class Normals {
 public:
  static constexpr size_t kCount = size_t{1} << 16;
  Normals() : table_(kCount) {
    for (size_t i = 0; i < kCount; ++i) table_[i] = normal(stream_of(0), i);
  }
  [[nodiscard]] float at(int operand, size_t element) const {
    const uint64_t mixed =
        (element + static_cast<uint64_t>(operand) * 0x51ED27) * 0x9E3779B97F4A7C15;
    return table_[mixed >> 48];
  }

 private:
  std::vector<float> table_;
};

// n is a standard normal of the element's own.
float float_of(std::string_view name, float n) {
  if (name == "x") return 0.25F + n;
  if (name == "gamma") return 1 + 0.3F * n;
  if (name == "logits") return 2 * n;
  if (name == "losses") return 5 + n;
  if (name == "loss_mask") return n < -0.5F ? 0.0F : 1.0F;
  if (name == "gradient_scale") return 0.0625F;
  if (name == "m") return 0.1F * n;
  if (name == "v") return 0.01F * (0.1F + n * n);
  if (name == "factor") return 0.7F;
  if (name == "rate") return 0.01F;
  return n;
}

double double_of(std::string_view name, float n) {
  return name == "total" ? 100.0 : double{n} * n;
}

int32_t int_of(std::string_view name, const Case& c, uint32_t bits) {
  if (name == "seed") return static_cast<int32_t>(0x9E3779B9U);  // uses the upper bit
  const auto limit = static_cast<uint64_t>(c.id_limit);
  TRIREME_ASSERT(limit > 0, "the case does not say in which range its ids are");
  return static_cast<int32_t>(bits % limit);
}

int64_t long_of(std::string_view name, size_t element) {
  if (name == "adam_step") return 3;
  TRIREME_ASSERT(name == "samples", "no rule says what this operand holds");
  return (int64_t{1} << 33) + static_cast<int64_t>(element) * 977;  // uses more than 32 bits
}

// segment_starts [s, b]: a new document begins at about every fifth token.
template <class Spec>
void fill_segment_starts(const Spec& op, const Case& c, HostOperands& operands) {
  const auto starts = operands.as<int32_t>(Spec::kSegmentStarts);
  const RandomStream stream = stream_of(1);
  size_t i = 0;
  for (int64_t position = 0; position < op.length; ++position) {
    for (int64_t sequence = 0; sequence < op.sequences; ++sequence, ++i) {
      const bool begins = position == 0 || (c.documents && stream.bits(i) % 5 == 0);
      starts[i] =
          begins ? static_cast<int32_t>(position) : starts[i - static_cast<size_t>(op.sequences)];
    }
  }
}

void fill(const Case& c, HostOperands& operands, int operand) {
  static const Normals normals;
  const std::string_view name = operands.declared()[static_cast<size_t>(operand)].name;
  switch (operands.declared()[static_cast<size_t>(operand)].dtype) {
    case DType::f32: {
      const auto values = operands.as<float>(operand);
      for (size_t i = 0; i < values.size(); ++i) values[i] = float_of(name, normals.at(operand, i));
      return;
    }
    case DType::f64: {
      const auto values = operands.as<double>(operand);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = double_of(name, normals.at(operand, i));
      return;
    }
    case DType::i32: {
      const auto values = operands.as<int32_t>(operand);
      const RandomStream stream = stream_of(operand);
      for (size_t i = 0; i < values.size(); ++i) values[i] = int_of(name, c, stream.bits(i));
      return;
    }
    case DType::i64: {
      const auto values = operands.as<int64_t>(operand);
      for (size_t i = 0; i < values.size(); ++i) values[i] = long_of(name, i);
      return;
    }
    default:
      TRIREME_ASSERT(false, "no rule says what operands of this dtype hold");
  }
}

void run_reference(const program::OpSpec& op, const std::vector<void*>& operands, uint32_t layer) {
  device::Stream stream;  // the reference works at once and needs nothing of it
  reference_kernels()[op](stream, op, {.operands = operands, .layer = layer});
}

// Saved values that a backward reads: what the reference's forward leaves.

template <class Spec>
void derive(const Spec&, const Case&, HostOperands&) {}

template <class Spec>
void derive_norm(const Spec& op, HostOperands& operands) {
  const program::LayerNorm forward{.rows = op.rows, .columns = op.columns};
  HostOperands saved(forward);
  std::vector<void*> addresses = saved.addresses();
  addresses[forward.kX] = operands.as<float>(Spec::kX).data();
  addresses[forward.kMean] = operands.as<float>(Spec::kMean).data();
  addresses[forward.kRstd] = operands.as<float>(Spec::kRstd).data();
  run_reference(forward, addresses, 0);
}
void derive(const program::LayerNormOutput& op, const Case&, HostOperands& operands) {
  derive_norm(op, operands);
}
void derive(const program::LayerNormBackward& op, const Case&, HostOperands& operands) {
  derive_norm(op, operands);
}
void derive(const program::LayerNormGradient& op, const Case&, HostOperands& operands) {
  derive_norm(op, operands);
}

void derive(const program::Attention& op, const Case& c, HostOperands& operands) {
  fill_segment_starts(op, c, operands);
}
void derive(const program::AttentionBackward& op, const Case& c, HostOperands& operands) {
  fill_segment_starts(op, c, operands);
  const std::vector<void*> from = operands.addresses();
  std::vector<void*> forward(6);
  forward[program::Attention::kQkv] = from[op.kQkv];
  forward[program::Attention::kSegmentStarts] = from[op.kSegmentStarts];
  forward[program::Attention::kSamples] = from[op.kSamples];
  forward[program::Attention::kSeed] = from[op.kSeed];
  forward[program::Attention::kContext] = from[op.kContext];
  forward[program::Attention::kLse] = from[op.kLse];
  run_reference(program::Attention{op}, forward, c.layer);
}

// A matrix [b, heads, s, s] that is zero above the diagonal.
void clear_above_diagonal(const program::AttentionSizes& op, std::span<float> matrix) {
  const auto length = static_cast<size_t>(op.length);
  for (size_t row = 0; row * length < matrix.size(); ++row) {
    const auto first = matrix.begin() + static_cast<std::ptrdiff_t>(row * length);
    std::fill(first + static_cast<std::ptrdiff_t>(row % length + 1),
              first + static_cast<std::ptrdiff_t>(length), 0.0F);
  }
}
void derive(const program::AttentionScoresBackward& op, const Case&, HostOperands& operands) {
  clear_above_diagonal(op, operands.as<float>(op.kDscores));
}
void derive(const program::ScaleMaskSoftmax& op, const Case& c, HostOperands& operands) {
  if (op.documents) fill_segment_starts(op, c, operands);
}
void derive(const program::ScaleMaskSoftmaxBackward& op, const Case& c, HostOperands& operands) {
  program::ScaleMaskSoftmax forward{op};
  forward.dropout.probability = 0;
  const std::vector<void*> from = operands.addresses();
  std::vector<void*> addresses(6);
  addresses[forward.kScores] = from[op.kProbabilities];
  addresses[forward.kSamples] = from[op.kSamples];
  addresses[forward.kSeed] = from[op.kSeed];
  addresses[forward.kProbabilities] = from[op.kProbabilities];
  run_reference(forward, addresses, c.layer);
}
void derive(const program::AttentionContext& op, const Case&, HostOperands& operands) {
  clear_above_diagonal(op, operands.as<float>(op.kKept));
}
void derive(const program::AttentionContextBackward& op, const Case&, HostOperands& operands) {
  clear_above_diagonal(op, operands.as<float>(op.kKept));
}
// Rows of the caches in turn, at every seventh of none; the positions of even caches fall from the
// last, those of odd ones rise from the first.
void derive(const program::AttentionDecode& op, const Case&, HostOperands& operands) {
  const auto places = operands.as<int32_t>(op.kPlaces);
  const auto positions = operands.as<int32_t>(op.kPositions);
  for (int64_t row = 0; row < op.rows; ++row) {
    const int64_t place = row % op.places;
    const int64_t turn = row / op.places;
    const auto i = static_cast<size_t>(row);
    places[i] = static_cast<int32_t>(row % 7 == 6 ? -1 : place);
    positions[i] = static_cast<int32_t>(place % 2 == 0 ? op.capacity - 1 - turn : turn);
  }
}

// As if other ranks' shards had been reduced in: on some rows their largest logit is larger.
template <class Spec>
void derive_maximum(const Spec& op, HostOperands& operands) {
  const program::VocabSizes& sizes = op;
  const auto maximum = operands.as<float>(Spec::kMaximum);
  run_reference(program::LogitMaximum{sizes},
                {operands.as<float>(Spec::kLogits).data(), maximum.data()}, 0);
  for (size_t i = 0; i < maximum.size(); ++i) {
    maximum[i] = std::max(maximum[i], i % 3 == 1 ? 6.0F : -6.0F);
  }
}
void derive(const program::LogitSum& op, const Case&, HostOperands& operands) {
  derive_maximum(op, operands);
}
void derive(const program::CrossEntropy& op, const Case& c, HostOperands& operands) {
  derive_maximum(op, operands);
  const program::VocabSizes& sizes = op;
  const auto sum = operands.as<float>(op.kSum);
  const auto target = operands.as<float>(op.kTarget);
  const auto labels = operands.as<int32_t>(op.kLabels);
  run_reference(program::LogitSum{sizes},
                {operands.as<float>(op.kLogits).data(), labels.data(),
                 operands.as<float>(op.kMaximum).data(), sum.data(), target.data()},
                0);
  if (c.id_limit == op.counted) return;
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] += 1.5F;
    const bool ours = labels[i] >= op.first_row && labels[i] < op.first_row + op.counted;
    if (!ours) target[i] = -2.5F;
  }
}

}  // namespace

HostOperands::HostOperands(const program::OpSpec& op) : declared_(program::operands_of(op)) {
  for (const program::Operand& operand : declared_) {
    storage_.emplace_back(static_cast<size_t>(operand.elements * bytes_of(operand.dtype)));
  }
}

std::vector<void*> HostOperands::addresses() {
  std::vector<void*> result;
  for (std::vector<std::byte>& bytes : storage_) {
    result.push_back(bytes.empty() ? nullptr : bytes.data());
  }
  return result;
}

bool is_input(const program::Operand& operand, bool accumulate) {
  switch (operand.access) {
    case program::Access::read:
    case program::Access::part:
    case program::Access::update:
      return true;
    case program::Access::add:
      return accumulate;
    case program::Access::write:
      return false;
  }
  return false;
}

HostOperands inputs_of(const Case& c) {
  HostOperands operands(c.op);
  for (int i = 0; i < operands.count(); ++i) {
    const program::Operand& declared = operands.declared()[static_cast<size_t>(i)];
    const std::span<std::byte> bytes = operands.bytes(i);
    if (!is_input(declared, c.accumulate)) {
      std::fill(bytes.begin(), bytes.end(), std::byte{0xFF});
    } else if (declared.name != "segment_starts") {
      fill(c, operands, i);
    }
  }
  std::visit([&](const auto& op) { derive(op, c, operands); }, c.op);
  return operands;
}

}  // namespace trireme::ops::testing
