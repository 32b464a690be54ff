#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "config/group.h"

namespace trireme::config {

enum class EvaluatePart { train, validation, test };
/// How a HellaSwag example becomes text.
enum class HellaSwagText {
  /// As EleutherAI's lm-evaluation-harness: "activity_label: ctx_a ctx_b" with ctx_b's first letter
  /// made upper and its others lower case (ASCII); then, in context and endings, " [title]" becomes
  /// ". ", other words in brackets go, and of two spaces one.
  harness,
  /// As llm.c: ctx and endings as they are.
  plain,
};

/// What a trained model is measured on.
struct EvaluateOptions {
  Path load = {};
  std::optional<int64_t> ckpt_step = {};  ///< the newest when not set
  Words data_path = {};
  std::optional<std::string> split = {};
  std::optional<EvaluatePart> part = {};
  std::optional<Path> text = {};
  std::optional<int64_t> stride = {};
  std::optional<Path> lambada = {};
  std::optional<Path> hellaswag = {};
  HellaSwagText hellaswag_text = HellaSwagText::harness;
  std::optional<int64_t> limit = {};
  std::optional<int64_t> seq_length = {};  ///< the run's when not set
  int64_t micro_batch_size = 8;
  bool json = false;

  bool operator==(const EvaluateOptions&) const = default;
  static const Group& group();
  /// Something to measure; nothing that has no effect on it.
  [[nodiscard]] std::optional<Conflict> validate() const;

  /// Whether token files are read: those that are named, or the part of the run's own.
  [[nodiscard]] bool reads_dataset() const { return !data_path.empty() || part; }
  /// Whether text is read, which needs a tokenizer.
  [[nodiscard]] bool reads_text() const { return text || lambada || hellaswag; }
};

}  // namespace trireme::config
