#pragma once
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "ops/kernel.h"
#include "ops/testing/case.h"

namespace trireme::ops::testing {

/// What a run left behind.
struct Outcome {
  HostOperands operands;  ///< after the run; operands that share memory hold the same
  /// What the kernel must not have done, one sentence each: written outside its operands and
  /// workspace, changed an operand it may only read.
  std::vector<std::string> violations = {};
};

/// A case bound to a backend's memory: every operand and the workspace (as large as the op declares
/// for the backend's profile, filled with NaN) between guards that are checked afterwards.
class Trial {
 public:
  /// The backend's device must outlive the trial. Operands start `shift` elements behind a boundary
  /// of 64 bytes: results may not depend on it.
  Trial(const Case& c, const Backend& backend, int64_t shift = 0);

  /// Queues the kernel once. Ops that update their operands go on from what is there.
  void launch();
  /// Waits for what was launched.
  void synchronize();
  /// Waits, copies back and checks.
  [[nodiscard]] Outcome outcome();

 private:
  struct Range {
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  Range place(int64_t bytes, int64_t shift);
  void check_guards(const std::vector<std::byte>& image,
                    std::vector<std::string>& violations) const;

  Case case_;
  Backend backend_;
  HostOperands inputs_;
  std::vector<Range> ranges_;  // per operand; the workspace is last
  int64_t size_ = 0;
  device::Arena arena_;
  std::unique_ptr<device::Stream> stream_;
  std::vector<void*> addresses_;
  std::byte* workspace_ = nullptr;
};

/// One run of a case on a backend.
[[nodiscard]] Outcome run(const Case& c, const Backend& backend, int64_t shift = 0);

/// The reference on the host's own memory and thread.
[[nodiscard]] Outcome run_reference(const Case& c);

}  // namespace trireme::ops::testing
