#include "train/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/format.h"
#include "core/log.h"

namespace trireme::train {
namespace {

struct Range {
  double low = 0;
  double high = 1;
  [[nodiscard]] double share(double value) const { return (value - low) / (high - low); }
};

// Losses from a little below the least to the largest; what is not a number has no place.
Range loss_range(const Curve& curve) {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  const auto see = [&](double loss) {
    if (!std::isfinite(loss)) return;
    low = std::min(low, loss);
    high = std::max(high, loss);
  };
  for (const auto& point : curve.train) see(point.loss);
  for (const auto& point : curve.validation) see(point.loss);
  if (curve.reference > 0) see(curve.reference);
  if (!(low <= high)) return {};
  if (high - low < 1e-9) high = low + 1;
  return {.low = low - 0.04 * (high - low), .high = high + 0.02 * (high - low)};
}

int64_t last_iteration(const Curve& curve) {
  int64_t last = 1;
  for (const auto& point : curve.train) last = std::max(last, point.iteration);
  for (const auto& point : curve.validation) last = std::max(last, point.iteration);
  return last;
}

// Mean of the training losses that fall into each of `columns` equal stretches of iterations.
std::vector<std::optional<double>> column_means(const Curve& curve, int columns, int64_t last) {
  std::vector<double> sums(static_cast<size_t>(columns), 0);
  std::vector<int> counts(static_cast<size_t>(columns), 0);
  for (const auto& point : curve.train) {
    if (!std::isfinite(point.loss)) continue;
    const auto column = static_cast<size_t>(
        std::clamp<int64_t>((point.iteration - 1) * columns / last, 0, columns - 1));
    sums[column] += point.loss;
    counts[column] += 1;
  }
  std::vector<std::optional<double>> means(static_cast<size_t>(columns));
  for (size_t c = 0; c < means.size(); ++c) {
    if (counts[c] > 0) means[c] = sums[c] / counts[c];
  }
  return means;
}

// Steps of 1, 2 or 5 times a power of ten, about `wanted` of them over the range.
double tick_step(double extent, int wanted) {
  const double rough = extent / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string curve_text(const Curve& curve, int columns, int rows) {
  constexpr int kMargin = 8;  // "  9.00 |"
  const int width = std::max(columns - kMargin, 10);
  const Range range = loss_range(curve);
  const int64_t last = last_iteration(curve);
  std::vector<std::string> grid(static_cast<size_t>(rows),
                                std::string(static_cast<size_t>(width), ' '));
  const auto row_of = [&](double loss) {
    return static_cast<size_t>(
        std::clamp(static_cast<int>((1 - range.share(loss)) * rows), 0, rows - 1));
  };
  const auto column_of = [&](int64_t iteration) {
    return static_cast<size_t>(std::clamp<int64_t>((iteration - 1) * width / last, 0, width - 1));
  };
  if (curve.reference > 0) {
    std::string& row = grid[row_of(curve.reference)];
    for (size_t c = 0; c < row.size(); c += 2) row[c] = '.';
  }
  const auto means = column_means(curve, width, last);
  for (size_t c = 0; c < means.size(); ++c) {
    if (means[c]) grid[row_of(*means[c])][c] = '*';
  }
  for (const auto& point : curve.validation) {
    if (std::isfinite(point.loss)) grid[row_of(point.loss)][column_of(point.iteration)] = 'o';
  }
  std::string text = format("{:>{}}{}\n", "", kMargin, curve.title);
  for (int r = 0; r < rows; ++r) {
    const double loss = range.high - (r + 0.5) / rows * (range.high - range.low);
    text += r % 3 == 0 ? format("{:6.2f} |", loss) : format("{:>6} |", "");
    std::string line = grid[static_cast<size_t>(r)];
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += format("{:>7}+{:-<{}}\n", "", "", width);
  const std::string end = format("{}", last);
  text += format("{:>{}}1{:>{}}\n", "", kMargin, end, width - 1);
  text += format("{:>{}}* training loss", "", kMargin);
  if (!curve.validation.empty()) text += "   o validation loss";
  if (curve.reference > 0)
    text += format("   . . {} {:.2f}", curve.reference_name, curve.reference);
  return text + "\n";
}

std::string curve_svg(const Curve& curve) {
  constexpr double kWidth = 800;
  constexpr double kHeight = 440;
  constexpr double kLeft = 60;
  constexpr double kRight = 20;
  constexpr double kTop = 46;
  constexpr double kBottom = 50;
  const Range range = loss_range(curve);
  const int64_t last = last_iteration(curve);
  const auto x = [&](double iteration) {
    return kLeft + (kWidth - kLeft - kRight) * iteration / static_cast<double>(last);
  };
  const auto y = [&](double loss) {
    return kTop + (kHeight - kTop - kBottom) * (1 - range.share(loss));
  };

  std::string svg = format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"13\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"{}\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{}</text>\n",
      kWidth, kHeight, kLeft, escaped(curve.title));
  const double loss_step = tick_step(range.high - range.low, 6);
  for (double tick = std::ceil(range.low / loss_step) * loss_step; tick <= range.high;
       tick += loss_step) {
    svg += format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e0e0e0\"/>\n",
                  kLeft, kWidth - kRight, y(tick), y(tick));
    svg +=
        format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#444444\">{:.4g}</text>\n",
               kLeft - 8, y(tick) + 4, tick);
  }
  const double iteration_step = std::max(1.0, tick_step(static_cast<double>(last), 8));
  for (double tick = 0; tick <= static_cast<double>(last); tick += iteration_step) {
    svg += format(
        "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"#444444\">{:.0f}</text>\n",
        x(tick), kHeight - kBottom + 20, tick);
  }
  svg +=
      format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#444444\">iteration</text>\n",
             (kLeft + kWidth - kRight) / 2, kHeight - 10);
  svg += format(
      "<text x=\"16\" y=\"{0}\" text-anchor=\"middle\" fill=\"#444444\" transform=\"rotate(-90 16 "
      "{0})\">loss, nats per token</text>\n",
      (kTop + kHeight - kBottom) / 2);
  if (curve.reference > 0) {
    svg += format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#888888\" "
        "stroke-dasharray=\"5 4\"/>\n",
        kLeft, kWidth - kRight, y(curve.reference));
    svg += format(
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#666666\">{} {:.2f}</text>\n",
        kWidth - kRight - 4, y(curve.reference) - 6, escaped(curve.reference_name),
        curve.reference);
  }
  const auto path = [&](const std::vector<Curve::Point>& points, const char* style) {
    std::string d;
    bool pen_down = false;
    for (const auto& point : points) {
      if (!std::isfinite(point.loss)) {
        pen_down = false;
        continue;
      }
      d += format("{}{:.1f},{:.1f} ", pen_down ? "L" : "M", x(static_cast<double>(point.iteration)),
                  y(point.loss));
      pen_down = true;
    }
    if (!d.empty()) svg += format("<path d=\"{}\" fill=\"none\" {}/>\n", d, style);
  };
  path(curve.train, "stroke=\"#9ec5e8\" stroke-width=\"1\"");
  constexpr int kSmoothColumns = 160;
  std::vector<Curve::Point> smooth;
  const auto means = column_means(curve, kSmoothColumns, last);
  for (size_t c = 0; c < means.size(); ++c) {
    if (means[c])
      smooth.push_back({static_cast<int64_t>((static_cast<double>(c) + 0.5) *
                                             static_cast<double>(last) / kSmoothColumns),
                        *means[c]});
  }
  path(smooth, "stroke=\"#1f6fb2\" stroke-width=\"2\"");
  for (const auto& point : curve.validation) {
    if (!std::isfinite(point.loss)) continue;
    svg += format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#d1495b\"/>\n",
                  x(static_cast<double>(point.iteration)), y(point.loss));
  }
  svg += format(
      "<line x1=\"{0}\" x2=\"{1}\" y1=\"24\" y2=\"24\" stroke=\"#1f6fb2\" "
      "stroke-width=\"2\"/><text x=\"{2}\" y=\"28\">training</text>\n",
      kWidth - 220, kWidth - 200, kWidth - 194);
  if (!curve.validation.empty()) {
    svg += format(
        "<circle cx=\"{}\" cy=\"24\" r=\"4\" fill=\"#d1495b\"/><text x=\"{}\" "
        "y=\"28\">validation</text>\n",
        kWidth - 116, kWidth - 106);
  }
  return svg + "</svg>\n";
}

}  // namespace trireme::train
