#pragma once
#include <functional>
#include <map>
#include <vector>

#include "ops/testing/case.h"

namespace trireme::ops::reference {

/// An op on the reference with its f32 operands stored as double, so that finite differences are
/// exact to nine digits. For tests. Starts with the inputs of a case; every operand may be set.
class WideOp {
 public:
  explicit WideOp(const testing::Case& c);

  /// An operand that is declared f32.
  [[nodiscard]] std::vector<double>& operator[](int operand) { return floats_.at(operand); }
  /// An operand of another dtype.
  template <class T>
  [[nodiscard]] std::span<T> as(int operand) {
    return others_.as<T>(operand);
  }
  void run();

 private:
  testing::Case case_;
  testing::HostOperands others_;
  std::map<int, std::vector<double>> floats_;
};

/// Weights of a scalar loss sum(weights * y), so that every element of y has its own part in it.
[[nodiscard]] std::vector<double> loss_weights(size_t count);
[[nodiscard]] double weighted_sum(const std::vector<double>& weights, const std::vector<double>& y);

/// d loss / d variable by central differences of fourth order; the loss reads the variable.
[[nodiscard]] std::vector<double> numerical_gradient(std::vector<double>& variable,
                                                     const std::function<double()>& loss);

/// Fails the test where a gradient is off by more than 1e-8 of its own or the others' size.
void expect_gradient(const std::vector<double>& actual, const std::vector<double>& numerical,
                     const std::string& what);

}  // namespace trireme::ops::reference
