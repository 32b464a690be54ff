#include "model/step_program.h"

#include <algorithm>

#include "core/error.h"

namespace trireme::model {

using namespace program;

namespace {

// Writes a rank's program of one block, binding tensors.
class Builder {
 public:
  Builder(const char* name, const RankView& rank) : name_(name), rank_(rank), block(name) {}

  int bind(int value, TensorId id) {
    bindings_.resize(static_cast<size_t>(value) + 1, kNoValue);
    bindings_.back() = id.value;
    return value;
  }
  int gradient(TensorId id) {
    return bind(block.gradient(rank_.table[id].name, rank_.local[id].slice.storage), id);
  }

  Program take() {
    Program program = {.name = name_};
    program.blocks.push_back(block.take());
    bindings_.resize(program.blocks[0].values.size(), kNoValue);
    program.instances.push_back({.block = 0, .layer = 0, .bindings = std::move(bindings_)});
    return program;
  }

 private:
  const char* name_;
  const RankView& rank_;
  std::vector<int> bindings_;

 public:
  BlockBuilder block;
};

std::vector<TensorId> tensors_held(const RankView& rank) {
  std::vector<TensorId> ids;
  for (int i = 0; i < rank.table.size(); ++i) {
    if (rank.local.holds(TensorId{i})) ids.push_back(TensorId{i});
  }
  return ids;
}

bool is_cut(const parallel::Tensor& tensor) {
  return std::any_of(tensor.splits.begin(), tensor.splits.end(),
                     [](const auto& split) { return split.has_value(); });
}

// Where the squares of all ranks of the model lie when they are gathered.
struct Squares {
  std::vector<int64_t> cuts = {0};     // of the ranks' parts
  int64_t own = 0;                     // this rank's part
  std::vector<SquareRun> order = {};   // of the sum; empty: as they lie
  std::vector<TensorId> counted = {};  // of this rank
};

Squares squares_of(const RankView& rank) {
  struct Part {
    int tensor;
    int tensor_rank;
    SquareRun run;
  };
  std::vector<Part> parts;
  Squares squares;
  for (const Rank member : rank.topology.group(RankGroup::model, rank.topology.rank(rank.at))) {
    const parallel::Coordinates at = rank.topology.coordinates(member);
    const bool is_own = at == rank.at;
    const LocalTensors local =
        local_tensors(rank.table, rank.layout.chunks(at.pipeline), rank.topology, at);
    if (is_own) squares.own = static_cast<int64_t>(squares.cuts.size()) - 1;
    int64_t block = squares.cuts.back();
    for (int i = 0; i < rank.table.size(); ++i) {
      const TensorId id{i};
      if (!local.holds(id) || !rank.table[id].counted_in_norm) continue;
      if (at.tensor > 0 && !is_cut(rank.table[id])) continue;  // a copy of the first rank's
      const int64_t blocks = norm_blocks(local[id].elements());
      parts.push_back({.tensor = i, .tensor_rank = at.tensor, .run = {block, blocks}});
      block += blocks;
      if (is_own) squares.counted.push_back(id);
    }
    squares.cuts.push_back(block);
  }
  if (squares.cuts.size() == 2) return squares;
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::pair(a.tensor, a.tensor_rank) < std::pair(b.tensor, b.tensor_rank);
  });
  for (const Part& part : parts) squares.order.push_back(part.run);
  return squares;
}

}  // namespace

Program reduce_program(const RankView& rank, const std::vector<Bucket>& buckets,
                       const ReductionRules& rules) {
  Builder program("reduce", rank);
  const int d = rank.topology.data();
  const bool tied_apart = rank.topology.pipeline() > 1;
  for (const TensorId id : tensors_held(rank)) {
    const LocalTensor& tensor = rank.local[id];
    if (tensor.alias) {
      const int gradient = program.gradient(id);
      program.block.forward(AddInto{.elements = tensor.elements()},
                            {gradient, program.gradient(*tensor.alias)});
      continue;
    }
    // One of two holders, on the first and the last stage: the same sum in the same order on both.
    if (!rank.table.is_tied(id) || !tied_apart) continue;
    const int gradient = program.gradient(id);
    program.block.forward(AllReduceStart{.group = RankGroup::tied,
                                         .traffic = Traffic::tied,
                                         .ranks = 2,
                                         .elements = tensor.elements()},
                          {gradient});
    program.block.forward(AllReduceWait{.group = RankGroup::tied, .elements = tensor.elements()},
                          {gradient});
  }
  if (d == 1) return program.take();
  std::vector<int> values;
  for (size_t k = 0; k < buckets.size(); ++k) {
    const int64_t elements = buckets[k].elements;
    values.push_back(program.block.bucket(static_cast<int>(k), elements));
    if (rules.overlap && !buckets[k].is_tied()) continue;
    program.block.forward(AllReduceStart{.group = RankGroup::data,
                                         .traffic = Traffic::gradient,
                                         .ranks = d,
                                         .elements = elements},
                          {values.back()});
  }
  for (size_t k = 0; k < buckets.size(); ++k) {
    program.block.forward(AllReduceWait{.group = RankGroup::data, .elements = buckets[k].elements},
                          {values[k]});
  }
  return program.take();
}

Program step_program(const OptimizerRules& rules, const RankView& rank) {
  Builder program("step", rank);
  BlockBuilder& block = program.block;
  const std::vector<TensorId> held = tensors_held(rank);
  std::vector<int> gradients(static_cast<size_t>(rank.table.size()), kNoValue);
  for (const TensorId id : held) gradients[static_cast<size_t>(id.value)] = program.gradient(id);

  const Squares where = squares_of(rank);
  const int64_t blocks = where.cuts.back();
  const int squares = block.local("squares", {blocks}, DType::f64);
  const int norm = block.scalar(StepScalar::gradient_norm);
  const int factor = block.scalar(StepScalar::clip_factor);
  const int rate = block.scalar(StepScalar::learning_rate);
  const int adam_step = block.scalar(StepScalar::adam_step);
  int64_t first_block = where.cuts[static_cast<size_t>(where.own)];
  for (const TensorId id : where.counted) {
    const int64_t elements = rank.local[id].elements();
    block.forward(SquareSums{.elements = elements, .first_block = first_block, .blocks = blocks},
                  {gradients[static_cast<size_t>(id.value)], squares});
    first_block += norm_blocks(elements);
  }
  if (where.cuts.size() > 2) {
    std::vector<int64_t> cuts = where.cuts;
    for (int64_t& cut : cuts) cut *= bytes_of(DType::f64);
    block.forward(AllGatherStart{.group = RankGroup::model,
                                 .traffic = Traffic::norm,
                                 .dtype = DType::f64,
                                 .elements = blocks,
                                 .cuts = block.keep(std::move(cuts)),
                                 .own = where.own},
                  {squares});
    block.forward(AllGatherWait{.group = RankGroup::model, .dtype = DType::f64, .elements = blocks},
                  {squares});
  }
  block.forward(
      ClipFactor{.blocks = blocks, .clip = rules.clip_gradient, .order = block.keep(where.order)},
      {squares, norm, factor});
  for (const TensorId id : held) {
    if (rank.local[id].alias) continue;
    const Shape shape = rank.local[id].slice.storage;
    const std::string& name = rank.table[id].name;
    const int parameter = program.bind(block.parameter(name, shape), id);
    const int m = program.bind(block.moment(ValueKind::first_moment, name, shape), id);
    const int v = program.bind(block.moment(ValueKind::second_moment, name, shape), id);
    block.forward(
        AdamW{.elements = shape.elements(),
              .beta1 = rules.beta1,
              .beta2 = rules.beta2,
              .epsilon = rules.epsilon,
              .decay = rank.table[id].decay ? rules.weight_decay : 0},
        {parameter, gradients[static_cast<size_t>(id.value)], m, v, factor, rate, adam_step});
  }
  return program.take();
}

}  // namespace trireme::model
