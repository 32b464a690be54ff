#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "program/op.h"

namespace trireme::program {

/// Where a value comes from and how long it stays.
enum class ValueKind : uint8_t {
  parameter,     ///< weights of one tensor of the table, bound by the instance
  gradient,      ///< fp32 accumulator of one tensor
  bucket,        ///< a range of the rank's gradients, over the bounds of tensors
  first_moment,  ///< optimizer state of one tensor
  second_moment,
  flow,  ///< between blocks (and, at a chunk's ends, between stages): bound to one of the program's
         ///< flows
  batch_field,  ///< tokens, labels, ...: one per microbatch, written by the host
  scalar,       ///< one element for the whole step, on the device
  persistent,   ///< of one instance, keeps over actions: the key/value cache
  local,        ///< inside the block; liveness says whether it is saved for backward or temporary
};

/// Per-token and per-sequence fields of a microbatch, [s, b] or [b]. Every rank builds them from
/// the data itself.
enum class BatchField : uint8_t {
  tokens,
  labels,
  loss_mask,
  positions,
  segment_starts,
  samples,
  places  ///< of the rows of a decoding program: which key/value cache
};
inline constexpr int kBatchFields = 7;

/// Device values of one step.
enum class StepScalar : uint8_t {
  seed,
  learning_rate,
  gradient_scale,
  adam_step,
  loss_total,
  gradient_norm,
  clip_factor
};
inline constexpr int kStepScalars = 7;

[[nodiscard]] std::string_view name_of(ValueKind kind);
[[nodiscard]] std::string_view name_of(BatchField field);
[[nodiscard]] std::string_view name_of(StepScalar scalar);
[[nodiscard]] DType dtype_of(BatchField field);
[[nodiscard]] DType dtype_of(StepScalar scalar);

/// A value as a block or a program declares it.
struct Value {
  std::string name;
  ValueKind kind = ValueKind::local;
  DType dtype = DType::f32;
  Shape shape = {};
  int which = 0;  ///< the BatchField, the StepScalar, or the number of the bucket

  [[nodiscard]] int64_t bytes() const { return shape.elements() * bytes_of(dtype); }
};

/// An operand that is not there (the kind declares it with no elements).
inline constexpr int kNoValue = -1;

/// Forward and backward of one piece of the model, written side by side, once for all layers that
/// look alike.
struct Block {
  std::string name;
  std::vector<Value> values;
  std::vector<Op> forward;
  std::vector<Op> backward;
  /// What the sizes of its ops point to.
  std::vector<std::shared_ptr<const void>> tables = {};
};

/// One use of a block: which layer, and what its outer values are. bindings[i] belongs to the
/// block's value i: a tensor-table id for parameters, gradients and moments; one of the program's
/// flows for flows; unused (kNoValue) otherwise.
struct Instance {
  int block = 0;
  int layer = 0;
  std::vector<int> bindings;
};

/// What one model chunk (or the optimizer step, or a decoding step) does, as a value: forward runs
/// the instances in order, backward in reverse order. Prints as text; liveness, cost and
/// descriptors are per block.
struct Program {
  std::string name;
  std::vector<Block> blocks;
  std::vector<Value> flows;
  std::vector<Instance> instances;
  /// The chunk's ends, as flows that lie where messages do; kNoValue where the chunk has the
  /// embedding or the head.
  int input = kNoValue;
  int output = kNoValue;
  int output_gradient = kNoValue;
  int input_gradient = kNoValue;
  /// Of decoding with the head: flows that lie in memory of their own. Without padding: the logits
  /// of all words, [rows, V]; of t > 1 tensor ranks, each one's [rows, its words] one behind the
  /// other, gathered, and among them the part that this rank makes.
  int logits = kNoValue;
  int own_logits = kNoValue;  ///< with t > 1
  /// Of an evaluation with the head: what it says of each token, as flows [s, b].
  int losses = kNoValue;  ///< nats
  int target = kNoValue;  ///< the label's logit less the largest: 0 where no word is likelier
};

/// Sums over a program.
struct Totals {
  Cost forward;
  Cost backward;
  double forward_wire_bytes = 0;  ///< sent by this rank in the program's collectives
  double backward_wire_bytes = 0;
};

[[nodiscard]] Totals totals(const Program& program);

/// Largest workspace any op needs.
[[nodiscard]] int64_t workspace_bytes(const Program& program, const BackendProfile& profile);

/// Writes a block down op by op; take() checks it.
class BlockBuilder {
 public:
  explicit BlockBuilder(std::string name) { block_.name = std::move(name); }

  /// A parameter and its gradient accumulator; name is the tensor's, less the instance's prefix.
  struct Weight {
    int value;
    int gradient;
  };
  [[nodiscard]] Weight weight(const std::string& name, Shape shape);
  [[nodiscard]] int parameter(const std::string& name, Shape shape);
  [[nodiscard]] int gradient(const std::string& name, Shape shape);
  [[nodiscard]] int bucket(int number, int64_t elements);
  [[nodiscard]] int moment(ValueKind kind, const std::string& name, Shape shape);
  [[nodiscard]] int flow(const std::string& name, Shape shape);
  [[nodiscard]] int local(const std::string& name, Shape shape, DType dtype = DType::f32);
  [[nodiscard]] int persistent(const std::string& name, Shape shape);
  [[nodiscard]] int field(BatchField field, Shape shape);
  [[nodiscard]] int scalar(StepScalar scalar);

  /// Keeps a table for the sizes of an op, which own nothing.
  template <class T>
  [[nodiscard]] std::span<const T> keep(std::vector<T> table) {
    const auto kept = std::make_shared<const std::vector<T>>(std::move(table));
    block_.tables.push_back(kept);
    return *kept;
  }

  void forward(const OpSpec& spec, std::vector<int> values);
  /// Backward ops in the order in which `B` runs them; each weight gradient right behind its input
  /// gradient.
  void input_gradient(const OpSpec& spec, std::vector<int> values);
  void weight_gradient(const OpSpec& spec, std::vector<int> values);

  /// The block, checked: every operand is there with the kind's dtype and size; nothing local is
  /// read before it is written; input gradients need nothing that weight gradients make.
  [[nodiscard]] Block take();

 private:
  int add(Value value);

  Block block_;
};

}  // namespace trireme::program
