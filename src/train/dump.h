#pragma once
#include <map>
#include <string>
#include <vector>

#include "checkpoint/tensor_spec.h"
#include "core/file.h"
#include "engine/session.h"

namespace trireme::train {

/// Writes down every value of a session's actions, for comparing two implementations:
///   FOLDER/iter_N/0F3.safetensors        what the ops of an action wrote, as LAYER.BLOCK.VALUE
///   FOLDER/iter_N/weights.safetensors    before the optimizer step, by tensor-table name
///   FOLDER/iter_N/gradients.safetensors  of the global batch, before clipping
///   FOLDER/iter_N/step.safetensors       what the step's ops wrote: moments, weights, norm
/// Tensors are this rank's part. A value that is written twice is there as it was last. Reads
/// everything back: slow.
class Dump final : public engine::Observer {
 public:
  Dump(engine::Session& session, Path folder);

  /// The files of the next actions go to this iteration's folder, which is made.
  void start_iteration(int64_t iteration);

  void begin(const schedule::Action& action) override;
  void op(const engine::OpRecord& record) override;
  void end(const schedule::Action& action) override;

 private:
  struct Stored {
    checkpoint::TensorSpec spec;
    std::vector<std::byte> bytes;
  };
  using Values = std::map<std::string, Stored>;
  void write(const std::string& stem, const Values& values) const;
  void write_tensors(const std::string& stem, engine::TensorState state);

  engine::Session& session_;
  Path root_;
  Path folder_;
  Values values_;  // of the action under way
};

}  // namespace trireme::train
