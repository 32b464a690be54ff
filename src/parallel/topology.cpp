#include "parallel/topology.h"

#include "core/error.h"
#include "core/format.h"

namespace trireme::parallel {

std::string Coordinates::text() const {
  return format("p{} t{} d{}", pipeline, tensor, data);
}

Topology::Topology(int pipeline, int tensor, int data, RankOrder order)
    : pipeline_(pipeline), tensor_(tensor), data_(data), order_(order) {
  if (pipeline < 1 || tensor < 1 || data < 1) {
    fail_usage({.where = "topology",
                .what = format("pipeline {} x tensor {} x data {}", pipeline, tensor, data),
                .rule = "every parallel size is at least 1"});
  }
}

int Topology::size(Axis axis) const {
  switch (axis) {
    case Axis::tensor:
      return tensor_;
    case Axis::data:
      return data_;
    case Axis::pipeline:
      return pipeline_;
    case Axis::context:
    case Axis::expert:
      return 1;
  }
  return 1;
}

Coordinates Topology::coordinates(Rank rank) const {
  TRIREME_ASSERT(rank.value >= 0 && rank.value < world_size(), "a rank lies inside the world");
  const int slower = rank.value / tensor_;
  const bool data_first = order_ == RankOrder::tensor_data_pipeline;
  return {.pipeline = data_first ? slower / data_ : slower % pipeline_,
          .tensor = rank.value % tensor_,
          .data = data_first ? slower % data_ : slower / pipeline_};
}

Rank Topology::rank(const Coordinates& at) const {
  const int slower = order_ == RankOrder::tensor_data_pipeline ? at.data + data_ * at.pipeline
                                                               : at.pipeline + pipeline_ * at.data;
  return Rank{at.tensor + tensor_ * slower};
}

std::vector<Rank> Topology::group(Axis axis, Rank rank) const {
  Coordinates at = coordinates(rank);
  int none = 0;
  int& moving = axis == Axis::tensor     ? at.tensor
                : axis == Axis::data     ? at.data
                : axis == Axis::pipeline ? at.pipeline
                                         : none;
  std::vector<Rank> ranks;
  if (&moving == &none) return {rank};
  for (moving = 0; moving < size(axis); ++moving) ranks.push_back(this->rank(at));
  return ranks;
}

std::vector<Rank> Topology::group(RankGroup group, Rank rank) const {
  const Coordinates at = coordinates(rank);
  std::vector<Rank> ranks;
  switch (group) {
    case RankGroup::tensor:
      return this->group(Axis::tensor, rank);
    case RankGroup::data:
      return this->group(Axis::data, rank);
    case RankGroup::pipeline:
      return this->group(Axis::pipeline, rank);
    case RankGroup::tied: {
      const std::vector<Rank> stages = this->group(Axis::pipeline, rank);
      const bool holds = rank == stages.front() || rank == stages.back();
      if (!holds || stages.size() == 1) return {rank};
      return {stages.front(), stages.back()};
    }
    case RankGroup::model:
    case RankGroup::world:
      for (int other = 0; other < world_size(); ++other) {
        if (group == RankGroup::world || coordinates(Rank{other}).data == at.data)
          ranks.push_back(Rank{other});
      }
      return ranks;
  }
  return ranks;
}

void Topology::require_world_size(int ranks) const {
  if (ranks == world_size()) return;
  fail_usage({.where = "topology",
              .what = format("{} ranks run, but pipeline {} x tensor {} x data {} = {}", ranks,
                             pipeline_, tensor_, data_, world_size()),
              .rule = "ranks = p t d",
              .remedy = "start as many ranks, or change the parallel sizes"});
}

}  // namespace trireme::parallel
