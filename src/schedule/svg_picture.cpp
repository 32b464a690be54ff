#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "schedule/pictures.h"

namespace trireme::schedule {
namespace {

struct Colour {
  int red;
  int green;
  int blue;
};

// From dark for the first chunk to light for the last.
struct Shades {
  Colour dark;
  Colour light;
};
constexpr Shades kForward = {{28, 78, 158}, {176, 206, 244}};
constexpr Shades kBackward = {{32, 116, 54}, {178, 222, 178}};
constexpr Shades kWeight = {{104, 62, 146}, {216, 198, 236}};
constexpr std::string_view kIdle = "#d9d9d9";

constexpr double kCell = 22;       // of the shortest computing
constexpr double kWidest = 16000;  // of the time axis; beyond it cells shrink
constexpr double kRow = 26;
constexpr double kLeft = 64;
constexpr double kTop = 34;
constexpr double kDigit = 6.2;  // width of one at font size 11

const Shades& shades_of(ActionKind kind) {
  if (kind == ActionKind::forward) return kForward;
  return kind == ActionKind::weight_gradient ? kWeight : kBackward;
}

Colour shade(const Shades& shades, int chunk, int chunks) {
  const double at = chunks > 1 ? static_cast<double>(chunk) / (chunks - 1) : 0.35;
  const auto mix = [&](int dark, int light) {
    return static_cast<int>(std::lround(dark + at * (light - dark)));
  };
  return {mix(shades.dark.red, shades.light.red), mix(shades.dark.green, shades.light.green),
          mix(shades.dark.blue, shades.light.blue)};
}

// White on dark cells, black on light ones.
std::string_view ink_on(const Colour& colour) {
  return 0.3 * colour.red + 0.59 * colour.green + 0.11 * colour.blue < 140 ? "#fff" : "#000";
}

std::string rectangle(double x, double y, double width, double height, const std::string& fill) {
  return format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x, y,
      width, height, fill);
}

std::string text_of(const Colour& colour) {
  return format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

std::string cell(double x, double y, double width, const Span& span, int chunks) {
  const Colour colour = shade(shades_of(span.action.kind), span.action.chunk.value, chunks);
  std::string text =
      format("<g><title>{}: {:.6g} to {:.6g}</title>", span.action.text(), span.start, span.end) +
      format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" "
          "stroke=\"#fff\" stroke-width=\"{}\"/>",
          x, y, width, kRow, text_of(colour), width > 4 ? 1 : 0);
  const std::string number = format("{}", span.action.microbatch.value);
  if (width > kDigit * static_cast<double>(number.size()) + 2) {
    text += format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\" fill=\"{}\">{}</text>",
                   x + width / 2, y + kRow / 2 + 4, ink_on(colour), number);
  }
  return text + "</g>\n";
}

// One coloured box for each kind and chunk, and the words for them.
std::string legend(const Pipeline& pipeline, const Timeline& times, double y) {
  bool whole = false;
  bool halves = false;
  for (const std::vector<Span>& spans : times.ranks) {
    for (const Span& span : spans) {
      whole = whole || span.action.kind == ActionKind::backward;
      halves = halves || span.action.kind == ActionKind::input_gradient;
    }
  }
  std::string text;
  double x = kLeft;
  const auto entry = [&](std::string_view words, const Shades& shades) {
    for (int chunk = 0; chunk < pipeline.chunks; ++chunk) {
      text += rectangle(x, y, 14, 14, text_of(shade(shades, chunk, pipeline.chunks)));
      x += 15;
    }
    text += format("<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", x + 5, y + 11, words);
    x += 20 + kDigit * static_cast<double>(words.size());
  };
  entry("forward", kForward);
  if (whole) entry("backward", kBackward);
  if (halves) {
    entry("input gradient", kBackward);
    entry("weight gradient", kWeight);
  }
  text += rectangle(x, y, 14, 14, std::string(kIdle));
  text += format("<text x=\"{:.2f}\" y=\"{:.2f}\">idle</text>\n", x + 20, y + 11);
  if (pipeline.chunks > 1) {
    text += format("<text x=\"{:.2f}\" y=\"{:.2f}\">dark to light: chunk 0 to {}</text>\n", x + 60,
                   y + 11, pipeline.chunks - 1);
  }
  return text;
}

}  // namespace

std::string svg_picture(const Pipeline& pipeline, const Timeline& times) {
  const double shortest = times.shortest_computing();
  // Where nothing takes time there is nothing to draw.
  const double scale = shortest > 0 ? std::min(kCell / shortest, kWidest / times.makespan) : 0;
  const double width = std::max(kLeft + times.makespan * scale + 16, 560.0);
  const double below = kTop + kRow * pipeline.stages() + 14;
  std::string text = format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n",
      width, below + 30);
  text += rectangle(0, 0, width, below + 30, "#fff");
  text += format(
      "<text x=\"{}\" y=\"20\" font-size=\"13\">p = {}, m = {}, v = {}: bubble {:.1f}% of the "
      "ideal "
      "time</text>\n",
      kLeft, pipeline.stages(), pipeline.microbatches, pipeline.chunks, 100 * times.bubble());
  text +=
      rectangle(kLeft, kTop, times.makespan * scale, kRow * pipeline.stages(), std::string(kIdle));
  for (size_t rank = 0; rank < times.ranks.size(); ++rank) {
    const double y = kTop + kRow * static_cast<double>(rank);
    text += format("<text x=\"{}\" y=\"{:.2f}\" text-anchor=\"end\">rank {}</text>\n", kLeft - 8,
                   y + kRow / 2 + 4, rank);
    for (const Span& span : times.ranks[rank]) {
      if (!is_computing(span.action.kind)) continue;
      text += cell(kLeft + span.start * scale, y, (span.end - span.start) * scale, span,
                   pipeline.chunks);
    }
  }
  for (int rank = 1; rank < pipeline.stages(); ++rank)
    text += rectangle(kLeft, kTop + kRow * rank - 0.5, times.makespan * scale, 1, "#fff");
  text += format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"end\">time \u2192</text>\n",
                 kLeft - 8, below + 11);
  text += legend(pipeline, times, below);
  return text + "</svg>\n";
}

}  // namespace trireme::schedule
