#pragma once
#include <functional>
#include <span>
#include <vector>

#include "engine/session.h"
#include "train/verify/values.h"

namespace trireme::train {

/// What goes from the one-rank run, which is on the first rank of the world, to the ranks of the
/// run that is verified. Over memory of the host. Every call is made by all ranks together.
class VerifyExchange {
 public:
  /// reference: of the first rank; null on the others. All outlive this.
  VerifyExchange(comm::Communicator& world, device::Stream& stream, const model::RunPlan& plan,
                 engine::Session* reference);

  /// A tensor of the one-rank run as one rank is concerned: the largest absolute value of the whole
  /// and this rank's slice, row-major over its extent. A tied tensor has its holder's values, and
  /// as gradient the sum over both uses.
  struct Part {
    float largest = 0;
    std::span<const float> slice;
  };
  /// Calls receive for each tensor that this rank holds, in the order of the table; not for a tied
  /// one beside its holder.
  void tensors(engine::TensorState state,
               const std::function<void(TensorId id, const Part& part)>& receive);

  /// Calls receive for each of `own` with the one-rank run's sample of it (largest and samples are
  /// set). Values that the one-rank run does not have, as parts of them, are left out.
  void values(
      const std::map<ValueKey, ValueSample>& own, const std::map<ValueKey, ValueSample>* reference,
      const std::function<void(const ValueKey& key, const ValueSample& reference)>& receive);

 private:
  // Tensors [from, end) go in one message.
  [[nodiscard]] int group_end(int from) const;
  void read_whole(engine::TensorState state, int from, int to,
                  std::vector<std::vector<float>>& whole) const;
  // What a rank gets of a group: of each tensor that it holds, the largest and the slice.
  void cut_out(const model::LocalTensors& local, int from,
               const std::vector<std::vector<float>>& whole, std::vector<float>& parts) const;
  [[nodiscard]] size_t part_numbers(int from, int to) const;

  void send(int rank, std::span<const float> numbers);
  void receive(std::span<float> numbers);
  // start(first number, numbers) of messages that are not too long.
  void exchange(size_t numbers, const std::function<comm::Request(size_t, size_t)>& start);

  comm::Communicator& world_;
  device::Stream& stream_;
  const model::RunPlan& plan_;
  engine::Session* reference_;
  std::vector<model::LocalTensors> local_;  // of all ranks on the first, of itself on the others
};

}  // namespace trireme::train
