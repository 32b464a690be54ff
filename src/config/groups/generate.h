#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "config/group.h"

namespace trireme::config {

/// How the file of prompts is read.
enum class PromptsFormat { automatic, text, jsonl };

/// Sampling from a trained model.
struct GenerateOptions {
  Path load = {};
  std::optional<int64_t> ckpt_step = {};   ///< the newest when not set
  std::optional<std::string> prompt = {};  ///< empty: starts from the end-of-text token
  std::optional<Path> prompts = {};        ///< a file of them; "-": standard input
  PromptsFormat prompts_format = PromptsFormat::automatic;
  int64_t num_tokens = 100;
  int64_t num_samples = 1;
  int64_t batch_size = 8;
  bool greedy = false;
  double temperature = 1.0;  ///< 0: always the likeliest token
  int64_t top_k = 0;         ///< 0: no limit
  double top_p = 0.0;        ///< 0: no limit
  int64_t seed = 1234;
  Words stop = {};        ///< texts
  Words stop_token = {};  ///< ids
  bool ignore_eod = false;
  bool json = false;
  std::optional<Path> output = {};  ///< standard output when not set

  bool operator==(const GenerateOptions&) const = default;
  static const Group& group();
  /// Greedy decoding takes no sampling limits; one source of prompts.
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
