#include "parallel_grid.h"

#include <deque>

#include "core/random.h"
#include "schedule/communication.h"

namespace trireme::grid {
namespace {

using schedule::Action;
using schedule::ActionKind;
using schedule::Pipeline;
using schedule::PipelineShape;
using schedule::ScheduleKind;

constexpr int kLayers = 6;

int level(const Levels& levels, Factor factor) {
  return levels[static_cast<size_t>(factor)];
}

// A model that t divides; nothing in it is a power of two but by chance.
Model model_of(const Size& size, int number) {
  const auto t = static_cast<int64_t>(size.t);
  Model model;
  model::GptShape& shape = model.shape;
  shape = {.layers = kLayers,
           .heads = (4 + t - 1) / t * t,
           .length = kLength,
           .positions = kLength,
           .vocabulary = kWords,
           .vocabulary_granule = 4,
           .hidden_dropout = 0.1,
           .attention_dropout = 0.1};
  shape.hidden = shape.heads * 4;
  shape.ffn = shape.hidden * 4;
  switch (number) {
    case 0:
      break;
    case 1:  // the other form of everything
      shape.tied_embeddings = false;
      shape.attention = model::AttentionForm::stored;
      break;
    case 2:  // odd sizes: heads, rows of the MLP, tokens, words
      shape.hidden = shape.heads * 3;
      shape.ffn = shape.heads * 7;
      shape.length = 19;
      shape.vocabulary = 53;
      shape.vocabulary_granule = 1;
      break;
    case 3:  // padding that leaves ranks without a word
      shape.vocabulary = 33;
      shape.vocabulary_granule = 8;
      shape.attention = model::AttentionForm::stored;
      break;
    case 4:
      shape.hidden_dropout = shape.attention_dropout = 0;
      shape.tied_embeddings = false;
      break;
    case 5:  // the batch grows
      model.ramp_up = {1};
      break;
    case 6:  // microbatches whose tokens count differently
      model.documents = true;
      break;
  }
  return model;
}

parallel::Layout layout_of(const Size& size, int number) {
  const int stages = size.p * size.v;
  parallel::Layout layout = {.pipeline = size.p,
                             .layers_of = std::vector<int>(static_cast<size_t>(stages), 0)};
  std::vector<int> holders;
  for (int stage = 0; stage < stages; ++stage) {
    const bool holds = number == 0 || (number == 1 ? 2 * stage >= stages : stage % 2 == 0);
    if (holds) holders.push_back(stage);
  }
  for (int layer = 0; layer < kLayers; ++layer)
    ++layout.layers_of[static_cast<size_t>(holders[static_cast<size_t>(layer) % holders.size()])];
  return layout;
}

// A rank's backwards as I and W, each W `behind` others.
std::vector<Action> with_late_weight_gradients(const std::vector<Action>& actions, size_t behind) {
  std::vector<Action> out;
  std::deque<Action> waiting;
  const auto emit = [&] {
    out.push_back(waiting.front());
    waiting.pop_front();
  };
  for (Action action : actions) {
    if (action.kind == ActionKind::backward) {
      action.kind = ActionKind::input_gradient;
      out.push_back(action);
      action.kind = ActionKind::weight_gradient;
      waiting.push_back(action);
      if (waiting.size() > behind) emit();
    } else if (schedule::is_computing(action.kind)) {
      out.push_back(action);
    }
  }
  while (!waiting.empty()) emit();
  return out;
}

// All forwards; then backwards, the last microbatch first.
std::vector<Action> with_descending_backwards(const PipelineShape& shape) {
  std::vector<Action> out;
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    for (int k = 0; k < shape.microbatches; ++k)
      out.push_back({ActionKind::forward, ChunkId{chunk}, MicrobatchId{k}});
  }
  for (int chunk = shape.chunks; chunk-- > 0;) {
    for (int k = shape.microbatches; k-- > 0;)
      out.push_back({ActionKind::backward, ChunkId{chunk}, MicrobatchId{k}});
  }
  return out;
}

Pipeline order_of(int number, ScheduleKind kind, const PipelineShape& shape) {
  Pipeline pipeline = {.microbatches = shape.microbatches, .chunks = shape.chunks};
  for (int rank = 0; rank < shape.stages; ++rank) {
    const auto behind = static_cast<size_t>(number == split ? 0 : rank + 1);
    pipeline.ranks.push_back(
        number == backwards
            ? with_descending_backwards(shape)
            : with_late_weight_gradients(make_schedule(kind, shape, rank).actions, behind));
  }
  return schedule::insert_communication(std::move(pipeline));
}

int microbatches_of(const Size& size, const Levels& levels) {
  const int multiple = size.p < 4 ? 2 * size.p : size.p;
  switch (level(levels, Factor::microbatches)) {
    case 0:
      return multiple;
    case 1:
      return size.p + 1;
    case 2:
      return std::max(1, size.p - 1);
    default:
      return 1;
  }
}

}  // namespace

std::string Case::text() const {
  return format("{}, b {}, B {}, model {}{}", cut.text(), model.micro_batch, model.global_batch,
                level(levels, Factor::model),
                level(levels, Factor::order) == backwards ? ", descending sums" : "");
}

std::vector<Size> sizes(int most_ranks) {
  std::vector<Size> all;
  for (int p = 1; p <= most_ranks; ++p) {
    for (int t = 1; p * t <= most_ranks; ++t) {
      for (int d = 1; p * t * d <= most_ranks; ++d) {
        for (int v = 1; v == 1 || (p > 1 && p * v <= kLayers + 2); ++v)
          all.push_back({.p = p, .t = t, .d = d, .v = v});
      }
    }
  }
  return all;
}

Levels spread(uint32_t number) {
  const auto random = philox4x32({number, 0, 0, 0}, {5, 5});
  Levels levels;
  uint64_t rest = uint64_t{random[0]} << 32 | random[1];
  for (size_t factor = 0; factor < levels.size(); ++factor) {
    levels[factor] = static_cast<int>(rest % static_cast<uint64_t>(kLevels[factor]));
    rest /= static_cast<uint64_t>(kLevels[factor]);
  }
  return levels;
}

Case make_case(const Size& size, Levels levels) {
  const auto fall_back = [&](Factor factor) { levels[static_cast<size_t>(factor)] = 0; };
  if (size.p == 1) fall_back(Factor::layers);
  if (size.p == 1 || size.t == 1) fall_back(Factor::scatter_gather);
  if (size.d == 1) fall_back(Factor::overlap);
  if (size.d == 1) fall_back(Factor::bucket);
  if (size.v == 1 && level(levels, Factor::order) == grouped) fall_back(Factor::order);
  const bool grows = level(levels, Factor::model) == 5;
  const bool interleaves = size.v > 1 && level(levels, Factor::order) != gpipe &&
                           level(levels, Factor::order) != backwards;
  if (grows || (interleaves && level(levels, Factor::microbatches) > 1))
    fall_back(Factor::microbatches);

  int m = microbatches_of(size, levels);
  // The smaller batch must suit the schedule, too.
  if (grows) m = 2 * size.p;
  const bool grouped_by_m =
      interleaves && (m % size.p != 0 || level(levels, Factor::order) == grouped);

  Case one = {.model = model_of(size, level(levels, Factor::model)), .levels = levels};
  Model& model = one.model;
  model.micro_batch = 1 + level(levels, Factor::sequences);
  const int64_t at_once = model.micro_batch * size.d;
  model.global_batch = at_once * m;
  if (grows) model.ramp_up = {at_once * size.p};

  Cut& cut = one.cut;
  cut.p = size.p;
  cut.t = size.t;
  cut.d = size.d;
  cut.v = size.v;
  cut.layout = layout_of(size, level(levels, Factor::layers));
  cut.kind = level(levels, Factor::order) == gpipe ? ScheduleKind::gpipe
             : size.v > 1                          ? ScheduleKind::interleaved
                                                   : ScheduleKind::one_forward_one_backward;
  if (grouped_by_m) cut.group = grows ? size.p : m;
  if (!interleaves && size.v > 1) cut.kind = ScheduleKind::gpipe;
  const PipelineShape shape = {
      .stages = size.p, .microbatches = m, .chunks = size.v, .group = cut.group};
  if (level(levels, Factor::order) >= split)
    cut.order = order_of(level(levels, Factor::order), *cut.kind, shape);
  cut.scatter_gather = level(levels, Factor::scatter_gather) == 1;
  cut.reduction.overlap = level(levels, Factor::overlap) == 0;
  constexpr std::array<int64_t, 4> kBuckets = {1 << 20, 1, 200, 3000};
  cut.reduction.bucket_elements = kBuckets[static_cast<size_t>(level(levels, Factor::bucket))];
  cut.rank_order = level(levels, Factor::rank_order) == 0
                       ? parallel::RankOrder::tensor_data_pipeline
                       : parallel::RankOrder::tensor_pipeline_data;
  cut.threads = 1 + 2 * level(levels, Factor::threads);
  return one;
}

Case one_stage(const Case& one) {
  Case reference = {.model = one.model, .levels = one.levels};
  Cut& cut = reference.cut;
  cut.t = one.cut.t;
  cut.d = one.cut.d;
  const PipelineShape shape = {
      .microbatches = static_cast<int>(one.model.global_batch / one.model.micro_batch / one.cut.d)};
  if (level(one.levels, Factor::order) == backwards)
    cut.order = order_of(backwards, ScheduleKind::gpipe, shape);
  return reference;
}

}  // namespace trireme::grid
