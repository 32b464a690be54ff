#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace trireme::train {

/// What a loss curve shows.
struct Curve {
  struct Point {
    int64_t iteration;
    double loss;  ///< nats per token
  };
  std::string title;
  std::vector<Point> train;
  std::vector<Point> validation;
  /// A horizontal line to beat, with its name; not drawn at 0.
  double reference = 0;
  std::string reference_name;
};

/// The curve in so many columns and rows of text: the mean training loss of each column,
/// validations as `o`, the reference as a dotted line, both axes labelled.
[[nodiscard]] std::string curve_text(const Curve& curve, int columns, int rows);

/// The curve as a stand-alone SVG picture.
[[nodiscard]] std::string curve_svg(const Curve& curve);

}  // namespace trireme::train
