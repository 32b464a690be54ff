#include "parallel/stages.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/format.h"
#include "core/nearest_values.h"
#include "core/table.h"

namespace trireme::parallel {
namespace {

// As in "0-23", "24", "none".
std::string range_of(const Chunk& chunk) {
  if (chunk.layers == 0) return "none";
  if (chunk.layers == 1) return format("{}", chunk.first_layer);
  return format("{}-{}", chunk.first_layer, chunk.first_layer + chunk.layers - 1);
}

std::string contents_of(const Chunk& chunk) {
  std::string text =
      chunk.layers > 0 ? format("layer{} {}", chunk.layers == 1 ? "" : "s", range_of(chunk)) : "";
  if (chunk.embedding) text = "embedding" + std::string(text.empty() ? "" : ", ") + text;
  if (chunk.head) text += std::string(text.empty() ? "" : ", ") + "head";
  return text.empty() ? "nothing" : text;
}

}  // namespace

int Layout::layers() const {
  return std::accumulate(layers_of.begin(), layers_of.end(), 0);
}

std::vector<Chunk> Layout::chunks(int pipeline_rank) const {
  std::vector<Chunk> chunks;
  int first = 0;
  for (int stage = 0; stage < stages(); ++stage) {
    const int count = layers_of[static_cast<size_t>(stage)];
    if (stage % pipeline == pipeline_rank) {
      chunks.push_back({.chunk = ChunkId{stage / pipeline},
                        .stage = StageId{stage},
                        .first_layer = first,
                        .layers = count,
                        .embedding = stage == 0,
                        .head = stage == stages() - 1});
    }
    first += count;
  }
  return chunks;
}

std::string Layout::placement() const {
  if (stages() == 1)
    return format("{} of {} layers placed, with embedding and head in one stage",
                  chunks(0).front().layers, layers());
  std::vector<std::pair<std::string, TextTable::Align>> columns = {
      {"pipeline rank", TextTable::Align::left}};
  for (int chunk = 0; chunk < chunks_per_rank(); ++chunk)
    columns.emplace_back(format("chunk {}", chunk), TextTable::Align::left);
  TextTable table(columns);
  int placed = 0;
  for (int rank = 0; rank < pipeline; ++rank) {
    std::vector<std::string> cells = {format("{}", rank)};
    for (const Chunk& chunk : chunks(rank)) {
      cells.push_back(contents_of(chunk));
      placed += chunk.layers;
    }
    table.row(cells);
  }
  return table.text() + format("{} of {} layers placed", placed, layers());
}

Layout equal_layout(int layers, int pipeline_size, int chunks_per_rank) {
  const int stages = pipeline_size * chunks_per_rank;
  if (layers < 1 || layers % stages != 0) {
    fail_usage({.where = "pipeline stages",
                .what = format("{} layers over {} stages x {} chunks", layers, pipeline_size,
                               chunks_per_rank),
                .rule = "the number of layers is a multiple of p v",
                .remedy = format("use {} layers, or an uneven layout (--pipeline-layout auto)",
                                 nearest_multiples(layers, stages))});
  }
  return {.pipeline = pipeline_size,
          .layers_of = std::vector<int>(static_cast<size_t>(stages), layers / stages)};
}

int chunks_for(int layers, int pipeline_size, int layers_per_virtual_stage) {
  const int round = pipeline_size * layers_per_virtual_stage;
  if (layers >= round && layers % round == 0) return layers / round;
  // As in "1, 2 or 4", from the last on.
  std::string possible;
  for (int k = layers / pipeline_size, found = 0; k >= 1; --k) {
    if (layers % (pipeline_size * k) != 0) continue;
    possible = format("{}{}{}", k, found == 0 ? "" : found == 1 ? " or " : ", ", possible);
    ++found;
  }
  fail_usage({.where = "pipeline stages",
              .what = format("{} layers over {} stages, {} to a virtual stage", layers,
                             pipeline_size, layers_per_virtual_stage),
              .rule = "the number of layers is a multiple of p times the layers of a virtual stage",
              .remedy = possible.empty()
                            ? format("use a number of layers that {} divides", pipeline_size)
                            : "use --num-layers-per-virtual-pipeline-stage " + possible});
}

Layout balanced_layout(int layers, int pipeline_size, int chunks_per_rank,
                       const StageCosts& costs) {
  const auto stages = static_cast<size_t>(pipeline_size) * static_cast<size_t>(chunks_per_rank);
  Layout layout = {.pipeline = pipeline_size, .layers_of = std::vector<int>(stages, 0)};
  const auto cost_with_one_more = [&](size_t stage) {
    return costs.layer * (layout.layers_of[stage] + 1) + (stage == 0 ? costs.embedding : 0) +
           (stage + 1 == stages ? costs.head : 0);
  };
  // One by one to where it costs least: the best there is, as all layers cost the same.
  for (int layer = 0; layer < layers; ++layer) {
    size_t best = stages - 1;
    for (size_t stage = stages - 1; stage-- > 0;) {
      if (cost_with_one_more(stage) < cost_with_one_more(best)) best = stage;
    }
    ++layout.layers_of[best];
  }
  const bool empty =
      stages > 2 && std::find(layout.layers_of.begin() + 1, layout.layers_of.end() - 1, 0) !=
                        layout.layers_of.end() - 1;
  if (layers < 1 || empty) {
    fail_usage({.where = "pipeline stages",
                .what = format("{} layers over {} stages x {} chunks", layers, pipeline_size,
                               chunks_per_rank),
                .rule = "every stage has something to do",
                .remedy = "use fewer stages or chunks, or more layers"});
  }
  return layout;
}

}  // namespace trireme::parallel
