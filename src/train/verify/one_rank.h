#pragma once
#include "comm/local/solo.h"
#include "device/cpu/cpu_device.h"
#include "train/verify/rounding.h"
#include "train/verify/values.h"
#include "train/verify/verify.h"

namespace trireme::train {

/// The one-rank run beside a run that is verified, started, on cores of its own.
struct OneRank {
  /// run and roundings outlive it.
  OneRank(const Verification& run, const Roundings& roundings, int threads);

  /// Vectors whose elements are all equal, as they are before training, get random offsets: a bias
  /// of zeros would have no part in a forward, and norm weights of ones none in a backward.
  void move_constant_vectors();

  device::CpuDevice device;
  comm::SoloCommunicator solo;
  engine::Session session;
  Trainer trainer;
  ValueRecorder values;
};

}  // namespace trireme::train
