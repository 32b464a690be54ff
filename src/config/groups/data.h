#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "config/group.h"

namespace trireme::config {

/// Which token files are trained on, and how batches are made of them. What the items of a path
/// mean is the data room's business (one prefix, prefixes, or weights and prefixes in turn).
struct DataOptions {
  Words data_path = {};
  Words train_data_path = {};
  Words valid_data_path = {};
  Words test_data_path = {};
  std::optional<Path> data_args_path = {};
  bool mock_data = false;
  std::optional<std::string> split = {};  ///< weights of train, validation, test
  std::optional<Path> data_cache_path = {};
  bool reset_position_ids = false;
  bool reset_attention_mask = false;
  bool eod_mask_loss = false;
  int64_t num_workers = 2;

  bool operator==(const DataOptions&) const = default;
  static const Group& group();
  /// One place where the data comes from; nothing that has no effect on it.
  [[nodiscard]] std::optional<Conflict> validate() const;

  /// Whether data are named at all: a plan needs none.
  [[nodiscard]] bool named() const;
  /// Whether each part has a path of its own.
  [[nodiscard]] bool by_part() const;
  [[nodiscard]] std::string split_or_default() const { return split.value_or(kDefaultSplit); }

  static constexpr const char* kDefaultSplit = "969, 30, 1";
};

}  // namespace trireme::config
