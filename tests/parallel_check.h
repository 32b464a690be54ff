#pragma once
// Holds a case of the grid against what it must equal.

#include <map>

#include "parallel_compare.h"
#include "parallel_grid.h"

namespace trireme::grid {

/// Runs cases and their references, each reference once.
class Checker {
 public:
  /// The bits of one stage; and that near to one rank.
  void check(const Case& one) {
    const std::string what = one.text();
    SCOPED_TRACE(what);
    const Case reference = one_stage(one);
    expect_bits(run(one.model, one.cut), stage_of(reference), what);
  }
  /// The largest part of its tolerance that any number needed so far.
  [[nodiscard]] double worst() const { return worst_; }

 private:
  const Result& stage_of(const Case& reference) {
    const auto [found, is_new] = runs_.try_emplace(reference.text());
    if (is_new) {
      found->second = run(reference.model, reference.cut);
      if (reference.cut.ranks() > 1 || reference.model.micro_batch > 1) {
        const double needed = expect_near(found->second, whole_of(reference), reference.model,
                                          reference.text() + " beside one rank");
        worst_ = std::max(worst_, needed);
      }
    }
    return found->second;
  }
  const Result& whole_of(const Case& reference) {
    Model model = reference.model;
    model.micro_batch = 1;
    const auto [found, is_new] = runs_.try_emplace(
        format("model {} of {} heads, B {}", reference.levels[static_cast<size_t>(Factor::model)],
               model.shape.heads, model.global_batch));
    if (is_new) found->second = run(model, {});
    return found->second;
  }

  std::map<std::string, Result> runs_;
  double worst_ = 0;
};

}  // namespace trireme::grid
