#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "train/record_file.h"
#include "train/trainer.h"

namespace trireme::train {

/// What turns a step's numbers into rates: the run's constants.
struct RunRates {
  int64_t train_iterations = 0;
  double peak_flops = 0;  ///< of all ranks, per second: on a CPU a measured FMA loop
};

/// Means over the steps since the last log line. NaN stays NaN: nothing is hidden.
struct IntervalReport {
  int64_t iteration = 0;
  int64_t consumed_samples = 0;
  double loss = 0;
  double gradient_norm = 0;  ///< of the last step
  double learning_rate = 0;  ///< used by the last step
  int64_t global_batch = 0;  ///< of the last step
  double seconds_per_step = 0;
  double tokens_per_second = 0;
  double flops_per_second = 0;
  int skipped_iterations = 0;
  int nan_iterations = 0;
};

/// Collects steps into an interval.
class Interval {
 public:
  void add(const StepReport& step) { steps_.push_back(step); }
  [[nodiscard]] bool empty() const { return steps_.empty(); }
  /// The means; the interval starts anew.
  [[nodiscard]] IntervalReport take();

 private:
  std::vector<StepReport> steps_;
};

/// Megatron-LM's line, fields in its order, plus tokens per second and MFU.
[[nodiscard]] std::string log_line(const IntervalReport& report, const RunRates& rates,
                                   std::chrono::system_clock::time_point now);
/// Megatron-LM's validation line. where: as in " on test set"; empty for the validation part.
[[nodiscard]] std::string validation_line(int64_t iteration, double loss,
                                          std::string_view where = "");

/// metrics.jsonl: a header line with format name and version, then one JSON object per step and per
/// validation; docs/formats.md. A new run starts the file anew; a resumed run keeps the lines up to
/// its position.
class MetricsFile {
 public:
  MetricsFile(const Path& path, int64_t resumed_iteration);

  void step(const StepReport& report, const RunRates& rates);
  /// unigram_entropy, nats per token: what the loss is to be compared with; 0: unknown, left out.
  void validation(int64_t iteration, double loss, double unigram_entropy);

 private:
  RecordFile file_;
};

/// A live line on a terminal (standard error): loss, tokens/s, MFU, time left. Nothing elsewhere.
class LiveDisplay {
 public:
  LiveDisplay(bool wanted, int64_t train_iterations);
  ~LiveDisplay();
  LiveDisplay(const LiveDisplay&) = delete;
  LiveDisplay& operator=(const LiveDisplay&) = delete;

  void show(const StepReport& report, const RunRates& rates);
  /// Makes room for a line of standard output.
  void clear();

 private:
  bool on_;
  bool shown_ = false;
  int64_t train_iterations_;
  double smooth_loss_ = 0;
  double smooth_seconds_ = 0;
  double smooth_rate_ = 0;  // FLOPs per second
};

}  // namespace trireme::train
