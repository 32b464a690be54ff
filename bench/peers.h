#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ops/cpu/multiply.h"

namespace trireme::bench {

/// Another library's matrix product, on one thread.
class Peer {
 public:
  Peer() = default;
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  /// out = left right on the calling thread alone, without bias and accumulation; rows of out are
  /// `out_stride` elements apart. What depends on the sizes alone may be kept from call to call.
  virtual void multiply(const ops::cpu::Multiplication& product, int64_t out_stride) = 0;
};

/// The libraries that this machine has, each made ready for one thread per call.
[[nodiscard]] std::vector<std::unique_ptr<Peer>> peers();

/// Those of oneDNN: its sgemm, and its matmul primitive on weights that it packs first. None where
/// the bench was built without it.
[[nodiscard]] std::vector<std::unique_ptr<Peer>> onednn_peers();

}  // namespace trireme::bench
