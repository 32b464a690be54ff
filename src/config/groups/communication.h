#pragma once
#include <cstdint>
#include <optional>

#include "config/group.h"

namespace trireme::config {

/// How ranks are numbered, and how they exchange data. Changes no result.
struct CommunicationOptions {
  bool use_tp_pp_dp_mapping = false;
  bool overlap_grad_reduce = true;
  int64_t ddp_bucket_size = 1 << 20;  ///< elements; 4 MiB of fp32
  /// Not set: where neighbouring stages are on different hosts.
  std::optional<bool> scatter_gather_tensors_in_pipeline = {};

  bool operator==(const CommunicationOptions&) const = default;
  static const Group& group();
};

}  // namespace trireme::config
