#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "config/group.h"

namespace trireme::config {

enum class PipelineLayout { equal, automatic };
enum class PipelineSchedule { gpipe, one_forward_one_backward, interleaved };

/// Which layers each stage of the pipeline has, and in which order the stages work. What is
/// possible with the model, the batch and p is said by train/cut.h.
struct PipelineOptions {
  /// v; with none of the four: one chunk, equally many layers.
  std::optional<int64_t> num_virtual_stages_per_pipeline_rank = {};
  std::optional<int64_t> num_layers_per_virtual_pipeline_stage = {};
  std::optional<std::string> pipeline_model_parallel_layout = {};  ///< Megatron-LM's text
  std::optional<PipelineLayout> pipeline_layout = {};

  std::optional<PipelineSchedule> schedule = {};  ///< 1F1B, interleaved where there are chunks
  std::optional<int64_t> microbatch_group_size_per_virtual_pipeline_stage = {};
  std::optional<Path> schedule_file = {};  ///< instead of both

  [[nodiscard]] bool balanced() const { return pipeline_layout == PipelineLayout::automatic; }

  bool operator==(const PipelineOptions&) const = default;
  static const Group& group();
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
