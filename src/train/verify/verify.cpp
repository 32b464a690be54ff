#include "train/verify/verify.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/format.h"
#include "train/verify/exchange.h"
#include "train/verify/one_rank.h"
#include "train/verify/rounding.h"
#include "train/verify/values.h"

namespace trireme::train {
namespace {

using engine::TensorState;
using program::StepScalar;

constexpr std::array<TensorState, 3> kKept = {TensorState::parameter, TensorState::first_moment,
                                              TensorState::second_moment};

// A layer has two blocks, and Megatron-LM's names say which of them a tensor is of.
int position_of(const parallel::Tensor& tensor, const Roundings& roundings) {
  return roundings.position(tensor.place, tensor.name.find("mlp") != std::string::npos);
}

class Verifier {
 public:
  Verifier(const Verification& run, const VerifyRank& rank)
      : run_(run),
        rank_(rank),
        roundings_(run.request.shape, run.course.largest()),
        one_rank_(make_one_rank()),
        session_(model::plan_run(run.request), rank.backend, rank.groups),
        trainer_(session_, run.data, run.course, run.rate, run.seed, run.reading),
        values_(session_, roundings_),
        exchange_(rank.world, rank.host_stream, session_.plan(),
                  one_rank_ ? &one_rank_->session : nullptr) {
    if (run.overfit) trainer_.overfit();
  }

  VerifyReport run() {
    trainer_.resume(run_.start(session_, rank_.pool));
    compare_start();
    if (one_rank_) one_rank_->move_constant_vectors();
    for (step_ = 1; step_ <= run_.steps; ++step_) {
      take_over();
      StepReport reference;
      if (one_rank_) reference = one_rank_->trainer.step();
      const StepReport own = trainer_.step();
      compare_values();
      compare_numbers(reference, own);
      compare_gradients();
      compare_moments();
      compare_update(own.learning_rate);
    }
    return join_reports(rank_.world, rank_.host_stream, comparisons_);
  }

 private:
  std::unique_ptr<OneRank> make_one_rank() const {
    if (rank_.world.rank() != 0) return nullptr;
    return std::make_unique<OneRank>(run_, roundings_, rank_.one_rank_threads);
  }

  [[nodiscard]] const model::RunPlan& plan() const { return session_.plan(); }
  // Neither cut changes the order of sums: of one microbatch, of the whole batch.
  [[nodiscard]] bool same_microbatch() const {
    return run_.same_bits && plan().topology.tensor() == 1;
  }
  [[nodiscard]] bool same_batch() const { return same_microbatch() && plan().topology.data() == 1; }
  [[nodiscard]] double gradient_part(TensorId id) const {
    return roundings_.gradient(position_of(plan().table[id], roundings_));
  }
  // The norm is made of all gradients; the embedding's have the longest way.
  [[nodiscard]] double norm_part() const { return roundings_.gradient(0); }

  [[nodiscard]] std::string here() const {
    return format("rank {} = {}", rank_.world.rank(), plan().at.text());
  }

  // Gradients in the order in which backwards complete them, the last use of the word embeddings
  // last; everything else in that of the table.
  [[nodiscard]] int64_t order_of(Quantity quantity, TensorId id) const {
    if (quantity != Quantity::gradient) return id.value;
    const int tensors = plan().table.size();
    return plan().table[id].tied_to ? tensors : tensors - 1 - id.value;
  }

  Comparison of_tensor(Quantity quantity, TensorId id) const {
    return {.quantity = quantity,
            .step = step_,
            .order = order_of(quantity, id),
            .name = plan().table[id].name,
            .where = here()};
  }

  std::vector<float> read(TensorId id, TensorState state) {
    std::vector<float> values(static_cast<size_t>(session_.slice_elements(id)));
    session_.read_tensor(id, state, values);
    return values;
  }

  void compare_start() {
    for (const TensorState state : kKept) {
      exchange_.tensors(state, [&](TensorId id, const VerifyExchange::Part& part) {
        Comparison one = of_tensor(Quantity::start, id);
        if (state == TensorState::first_moment) one.name += ", first moment";
        if (state == TensorState::second_moment) one.name += ", second moment";
        one.order += static_cast<int64_t>(state) * plan().table.size();
        add_difference(one, part.slice, read(id, state));
        comparisons_.push_back(one);
      });
    }
  }

  // This rank's weights and moments become those of the one-rank run.
  void take_over() {
    for (const TensorState state : kKept) {
      exchange_.tensors(state, [&](TensorId id, const VerifyExchange::Part& part) {
        session_.write_tensor(id, state, part.slice);
        before_[{id, state}].assign(part.slice.begin(), part.slice.end());
      });
    }
  }

  // What differences of logits are made of, the loss among them: however small they are, they are
  // off by a part of this.
  [[nodiscard]] static double logit_scale(const std::map<ValueKey, ValueSample>& values) {
    double largest = 0;
    for (const auto& [key, sample] : values) {
      if (key.name == "head.maximum") largest = std::max(largest, double{sample.largest});
    }
    return 1 + largest;
  }

  void compare_values() {
    logit_scale_ = logit_scale((one_rank_ ? one_rank_->values : values_).values());
    exchange_.values(values_.values(), one_rank_ ? &one_rank_->values.values() : nullptr,
                     [&](const ValueKey& key, const ValueSample& reference) {
                       compare_value(key, values_.values().at(key), reference);
                     });
    values_.clear();
    if (one_rank_) one_rank_->values.clear();
  }

  void compare_value(const ValueKey& key, const ValueSample& own, const ValueSample& reference) {
    Comparison one = {.quantity = key.backward ? Quantity::backward : Quantity::forward,
                      .step = step_,
                      .order = own.order,
                      .name = key.name,
                      .op = own.op,
                      .where = format("{}, microbatch {} of the batch", here(), key.microbatch)};
    add_difference(one, reference.samples, own.samples);
    one.scale = reference.largest;
    if (!same_microbatch()) {
      const double part =
          key.backward ? roundings_.backward(key.position) : roundings_.forward(key.position);
      const bool difference = key.name == "head.target" || key.name == "head.losses";
      one.tolerance = part * (difference ? std::max(one.scale, logit_scale_) : one.scale);
    }
    // A rank has a value once in each microbatch.
    if (!comparisons_.empty() && comparisons_.back().name == one.name &&
        comparisons_.back().quantity == one.quantity && comparisons_.back().step == step_) {
      comparisons_.back().join(one);
    } else {
      comparisons_.push_back(one);
    }
  }

  // Every rank has the same loss and norm; the first has what they should be.
  void compare_numbers(const StepReport& reference, const StepReport& own) {
    clip_ = session_.scalar<float>(StepScalar::clip_factor);
    if (!one_rank_) return;
    if (reference.skipped) {
      fail({.where = "verify",
            .what = format("step {} of the one-rank run has a gradient that is not finite", step_),
            .rule = "only finite numbers can be compared",
            .remedy = "use a smaller --lr, or other data"});
    }
    const auto add = [&](Quantity quantity, double right, double mine, double tolerance) {
      Comparison one = {.quantity = quantity,
                        .step = step_,
                        .name = std::string(name_of(quantity)),
                        .scale = std::abs(right),
                        .tolerance = same_batch() ? 0 : tolerance,
                        .elements = 1,
                        .different = right == mine ? 0 : 1,
                        .where = "all ranks"};
      one.error = std::isfinite(mine) ? std::abs(right - mine) : std::numeric_limits<double>::max();
      comparisons_.push_back(one);
    };
    add(Quantity::loss, reference.loss, own.loss,
        roundings_.forward(roundings_.head()) * std::max(reference.loss, logit_scale_));
    add(Quantity::gradient_norm, reference.gradient_norm, own.gradient_norm,
        norm_part() * reference.gradient_norm);
  }

  void compare_gradients() {
    exchange_.tensors(TensorState::gradient, [&](TensorId id, const VerifyExchange::Part& part) {
      Comparison one = of_tensor(Quantity::gradient, id);
      add_difference(one, part.slice, read(id, TensorState::gradient));
      one.scale = part.largest;
      if (!same_batch()) one.tolerance = gradient_part(id) * part.largest;
      comparisons_.push_back(one);
      largest_gradient_[id] = part.largest;
      session_.write_tensor(id, TensorState::gradient, part.slice);  // for the update
    });
  }

  // The moments are m' = b1 m + (1 - b1) g and v' = b2 v + (1 - b2) g^2 with g the clipped
  // gradient: what g is off by goes into them, and they are rounded a few times.
  void compare_moments() {
    const model::OptimizerRules& rules = run_.request.optimizer;
    for (const TensorState state : {TensorState::first_moment, TensorState::second_moment}) {
      const bool first = state == TensorState::first_moment;
      exchange_.tensors(state, [&](TensorId id, const VerifyExchange::Part& part) {
        Comparison one = of_tensor(first ? Quantity::first_moment : Quantity::second_moment, id);
        add_difference(one, part.slice, read(id, state));
        one.scale = part.largest;
        if (!same_batch()) {
          const double gradient = double{clip_} * largest_gradient_[id];
          const double off = gradient_part(id) + norm_part();  // the clip factor's is the norm's
          const double added =
              first ? (1 - rules.beta1) * gradient : (1 - rules.beta2) * gradient * gradient;
          one.tolerance = added * off * (first ? 1 : 2) +
                          kRoundings * Roundings::kUnit * (part.largest + added);
        }
        comparisons_.push_back(one);
      });
    }
  }

  // Adam's step is at most rate A long in an element, A = (1 - b1) / sqrt(1 - b2) where that is
  // above 1, and is rounded a few times; then the weight is rounded.
  void compare_update(double rate) {
    const model::OptimizerRules& rules = run_.request.optimizer;
    for (const auto& [key, values] : before_) session_.write_tensor(key.first, key.second, values);
    session_.run({.kind = schedule::ActionKind::step});
    exchange_.tensors(TensorState::parameter, [&](TensorId id, const VerifyExchange::Part& part) {
      Comparison one = of_tensor(Quantity::update, id);
      add_difference(one, part.slice, read(id, TensorState::parameter));
      const std::vector<float>& before = before_[{id, TensorState::parameter}];
      one.scale = 0;
      for (size_t i = 0; i < before.size(); ++i)
        one.scale = std::max(one.scale, std::abs(double{part.slice[i]} - double{before[i]}));
      // The norm's squares are added in another order only where tensors are cut.
      if (!same_microbatch()) {
        const double longest = std::max(1.0, (1 - rules.beta1) / std::sqrt(1 - rules.beta2));
        one.tolerance = Roundings::kUnit * (2 * part.largest + 4 * kRoundings * rate * longest);
      }
      comparisons_.push_back(one);
    });
  }

  static constexpr double kRoundings = 4;  // of an element in an optimizer's formula

  const Verification& run_;
  const VerifyRank& rank_;
  Roundings roundings_;
  std::unique_ptr<OneRank> one_rank_;  // of the first rank
  engine::Session session_;
  Trainer trainer_;
  ValueRecorder values_;
  VerifyExchange exchange_;
  int step_ = 0;
  float clip_ = 1;
  double logit_scale_ = 1;
  std::map<std::pair<TensorId, TensorState>, std::vector<float>> before_;
  std::map<TensorId, double> largest_gradient_;
  std::vector<Comparison> comparisons_;
};

}  // namespace

VerifyReport verify(const Verification& run, const VerifyRank& rank) {
  return Verifier(run, rank).run();
}

}  // namespace trireme::train
