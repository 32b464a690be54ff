#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine/session.h"
#include "train/verify/rounding.h"

namespace trireme::train {

/// A value between ops, of one microbatch: whose it is, wherever it is made.
struct ValueKey {
  bool backward = false;   ///< written by a backward
  int position = 0;        ///< of its block: Roundings::head()
  std::string name = {};   ///< the block's
  int64_t microbatch = 0;  ///< of the global batch: k d + data rank
  int64_t elements = 0;    ///< of the whole value: a part of it is another value
  auto operator<=>(const ValueKey&) const = default;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] static ValueKey parse(const std::string& text);
};

/// What is kept of it.
struct ValueSample {
  float largest = 0;           ///< absolute, of all elements
  std::vector<float> samples;  ///< of elements spread over the whole; all of a small value
  std::string op;              ///< that made it, with the tensors that it reads
  int64_t order = 0;           ///< in the order of the data flow
};

/// Watches the actions of a session and keeps samples of what their ops write into values of f32,
/// as an action leaves them: flows between blocks and what lies inside of them. A rank that holds a
/// part of a value over the tensor group keeps that part, whose elements are fewer.
class ValueRecorder final : public engine::Observer {
 public:
  static constexpr int64_t kMostSamples = 2048;  ///< of a value

  /// Observes the session as long as it lives.
  ValueRecorder(engine::Session& session, const Roundings& roundings);
  ~ValueRecorder() override;

  void begin(const schedule::Action& action) override { action_ = action; }
  void op(const engine::OpRecord& record) override;

  [[nodiscard]] const std::map<ValueKey, ValueSample>& values() const { return values_; }
  void clear() { values_.clear(); }

  [[nodiscard]] static int64_t samples_of(int64_t elements) {
    return std::min(elements, kMostSamples);
  }

 private:
  void keep(const engine::OpRecord& record, size_t operand, int place_of_op, std::string maker);

  engine::Session& session_;
  const Roundings& roundings_;
  schedule::Action action_;
  std::vector<std::byte> bytes_;
  std::map<ValueKey, ValueSample> values_;
};

}  // namespace trireme::train
