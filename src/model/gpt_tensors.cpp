#include "model/gpt_tensors.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace trireme::model {
namespace {

using parallel::Init;
using parallel::Place;
using parallel::Split;
using parallel::Tensor;

constexpr Init kZeros = {.kind = Init::Kind::zeros};
constexpr Init kOnes = {.kind = Init::Kind::ones};

Tensor vector_tensor(std::string name, int64_t extent, Init init, Place place) {
  return {.name = std::move(name), .shape = {extent}, .init = init, .decay = false, .place = place};
}

Tensor matrix_tensor(std::string name, Shape shape, Init init, Place place) {
  return {.name = std::move(name), .shape = shape, .init = init, .decay = true, .place = place};
}

Tensor cut(Tensor tensor, int dimension, Split split) {
  tensor.splits[static_cast<size_t>(dimension)] = split;
  return tensor;
}

bool holds(const std::vector<parallel::Chunk>& chunks, const Place& place) {
  return std::any_of(chunks.begin(), chunks.end(), [&](const parallel::Chunk& chunk) {
    switch (place.part) {
      case Place::Part::embedding:
        return chunk.embedding;
      case Place::Part::head:
        return chunk.head;
      case Place::Part::layer:
        return place.layer >= chunk.first_layer && place.layer < chunk.first_layer + chunk.layers;
    }
    return false;
  });
}

}  // namespace

parallel::TensorTable gpt_tensors(const GptShape& shape, const parallel::Topology& topology) {
  const int64_t h = shape.hidden;
  const double narrow = shape.init_deviation / std::sqrt(2.0 * shape.layers);
  const auto normal = [](double deviation, RandomSite site, uint32_t layer) {
    return Init{.kind = Init::Kind::normal, .deviation = deviation, .site = site, .layer = layer};
  };
  const Split words = {.granule = 1, .padded = shape.padded_vocabulary(topology.tensor())};
  const Split heads = {.granule = 3 * shape.head_dim()};
  const Split columns = {.granule = 1};
  const Split head_columns = {.granule = shape.head_dim()};

  parallel::TensorTable table;
  const Place embedding = {.part = Place::Part::embedding};
  const TensorId word_embeddings = table.add(cut(
      matrix_tensor("embedding.word_embeddings.weight", {shape.vocabulary, h},
                    normal(shape.init_deviation, RandomSite::init_word_embeddings, 0), embedding),
      0, words));
  table.add(matrix_tensor("embedding.position_embeddings.weight", {shape.positions, h},
                          normal(shape.init_deviation, RandomSite::init_position_embeddings, 0),
                          embedding));
  for (int layer = 0; layer < shape.layers; ++layer) {
    const auto name = [&](const char* rest) { return format("decoder.layers.{}.{}", layer, rest); };
    const Place place = {.part = Place::Part::layer, .layer = layer};
    const auto number = static_cast<uint32_t>(layer);
    table.add(vector_tensor(name("input_layernorm.weight"), h, kOnes, place));
    table.add(vector_tensor(name("input_layernorm.bias"), h, kZeros, place));
    table.add(cut(matrix_tensor(name("self_attention.linear_qkv.weight"), {3 * h, h},
                                normal(shape.init_deviation, RandomSite::init_qkv, number), place),
                  0, heads));
    table.add(
        cut(vector_tensor(name("self_attention.linear_qkv.bias"), 3 * h, kZeros, place), 0, heads));
    table.add(cut(matrix_tensor(name("self_attention.linear_proj.weight"), {h, h},
                                normal(narrow, RandomSite::init_projection, number), place),
                  1, head_columns));
    table.add(vector_tensor(name("self_attention.linear_proj.bias"), h, kZeros, place));
    table.add(vector_tensor(name("pre_mlp_layernorm.weight"), h, kOnes, place));
    table.add(vector_tensor(name("pre_mlp_layernorm.bias"), h, kZeros, place));
    table.add(cut(matrix_tensor(name("mlp.linear_fc1.weight"), {shape.ffn, h},
                                normal(shape.init_deviation, RandomSite::init_fc1, number), place),
                  0, columns));
    table.add(
        cut(vector_tensor(name("mlp.linear_fc1.bias"), shape.ffn, kZeros, place), 0, columns));
    table.add(cut(matrix_tensor(name("mlp.linear_fc2.weight"), {h, shape.ffn},
                                normal(narrow, RandomSite::init_fc2, number), place),
                  1, columns));
    table.add(vector_tensor(name("mlp.linear_fc2.bias"), h, kZeros, place));
  }
  const Place head = {.part = Place::Part::head};
  table.add(vector_tensor("decoder.final_layernorm.weight", h, kOnes, head));
  table.add(vector_tensor("decoder.final_layernorm.bias", h, kZeros, head));
  // Tied: the head's use of the word embeddings. Its gradient has an accumulator of its own, also
  // where both stages are one.
  Tensor output = cut(matrix_tensor("output_layer.weight", {shape.vocabulary, h},
                                    normal(shape.init_deviation,
                                           shape.tied_embeddings ? RandomSite::init_word_embeddings
                                                                 : RandomSite::init_output,
                                           0),
                                    head),
                      0, words);
  if (shape.tied_embeddings) {
    output.tied_to = word_embeddings;
    output.counted_in_norm = false;
  }
  table.add(std::move(output));
  return table;
}

LocalTensors local_tensors(const parallel::TensorTable& table,
                           const std::vector<parallel::Chunk>& chunks,
                           const parallel::Topology& topology, const parallel::Coordinates& at) {
  LocalTensors local;
  local.tensors.resize(static_cast<size_t>(table.size()));
  for (int i = 0; i < table.size(); ++i) {
    const TensorId id{i};
    const parallel::Tensor& tensor = table[id];
    if (!holds(chunks, tensor.place)) continue;
    LocalTensor& here = local.tensors[static_cast<size_t>(i)].emplace();
    here.slice = table.slice(id, topology, at);
    const int64_t bytes = (here.elements() * bytes_of(tensor.dtype) + 63) / 64 * 64;
    here.gradient_offset = local.gradient_bytes;
    local.gradient_bytes += bytes;
    if (tensor.tied_to && local.holds(*tensor.tied_to)) {
      here.alias = tensor.tied_to;
      here.offset = local[*tensor.tied_to].offset;
    } else {
      here.offset = local.parameter_bytes;
      local.parameter_bytes += bytes;
    }
  }
  return local;
}

}  // namespace trireme::model
