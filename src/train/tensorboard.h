#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/file.h"
#include "train/metrics.h"
#include "train/record_file.h"

namespace trireme::train {

/// CRC-32C (Castagnoli), as the record format of event files has it.
[[nodiscard]] uint32_t crc32c(std::string_view bytes);

/// One record of an event file: length, masked checksum of the length, content, masked checksum of
/// the content; little-endian. Source: TensorFlow's description of TFRecord.
[[nodiscard]] std::string event_record(std::string_view content);

/// Scalars of one step as an Event message in protobuf's wire format.
using Scalars = std::span<const std::pair<std::string_view, double>>;
[[nodiscard]] std::string event_message(double wall_time, int64_t step, Scalars scalars);

/// An event file that TensorBoard reads, a new one for each start of a run, in a folder that is
/// made. Tags are Megatron-LM's.
class TensorBoardFile {
 public:
  explicit TensorBoardFile(const Path& folder);

  void step(const StepReport& report, const RunRates& rates);
  void validation(int64_t iteration, int64_t consumed_samples, double loss);

 private:
  void write(int64_t step, Scalars scalars);

  RecordFile file_;
};

}  // namespace trireme::train
