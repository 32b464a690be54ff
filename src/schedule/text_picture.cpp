#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "schedule/pictures.h"

namespace trireme::schedule {
namespace {

constexpr double kWidest = 100000;  // columns; beyond it the shortest computing is not seen

// One column of a row: a character and how it is coloured.
struct Cell {
  char character = ' ';
  int colour = 0;  // number of a terminal's 256 colours; 0: none
};
using Row = std::vector<Cell>;

char filler(ActionKind kind) {
  switch (kind) {
    case ActionKind::backward:
      return '=';
    case ActionKind::input_gradient:
      return '-';
    case ActionKind::weight_gradient:
      return '~';
    default:
      return ' ';
  }
}

// Dark for the first chunk, lighter for the others.
int colour_of(const Action& action) {
  constexpr int kForward[] = {25, 32, 74, 117};
  constexpr int kBackward[] = {28, 34, 71, 114};
  constexpr int kWeight[] = {91, 97, 134, 176};
  const int shade = std::min(action.chunk.value, 3);
  if (action.kind == ActionKind::forward) return kForward[shade];
  return action.kind == ActionKind::weight_gradient ? kWeight[shade] : kBackward[shade];
}

// Microbatch, behind the chunk's letter where there are several.
std::string label_of(const Action& action, int chunks) {
  std::string label;
  if (chunks > 26) label = format("{}.", action.chunk.value);
  if (chunks > 1 && chunks <= 26) label = static_cast<char>('a' + action.chunk.value);
  return label + format("{}", action.microbatch.value);
}

// Columns for a unit of time: the longest label and a space.
int columns_of_unit(const Pipeline& pipeline) {
  const Action last = {.chunk = ChunkId{pipeline.chunks - 1},
                       .microbatch = MicrobatchId{pipeline.microbatches - 1}};
  return static_cast<int>(label_of(last, pipeline.chunks).size()) + 1;
}

void draw(Row& row, size_t from, size_t to, const Span& span, int chunks) {
  const std::string label = label_of(span.action, chunks);
  for (size_t at = from; at < to; ++at) {
    Cell& cell = row[at];
    cell.colour = colour_of(span.action);
    cell.character = at - from < label.size() ? label[at - from] : filler(span.action.kind);
    // What follows begins behind a space; of a gradient of one unit, its sign is kept.
    if (at + 1 == to && at - from > label.size()) cell.character = ' ';
  }
}

std::string text_of(const Row& row, size_t from, size_t to, bool colour) {
  std::string text;
  int now = 0;
  for (size_t at = from; at < std::min(to, row.size()); ++at) {
    const Cell& cell = row[at];
    if (colour && cell.colour != now) {
      text += cell.colour == 0 ? "\x1b[0m" : format("\x1b[48;5;{};38;5;15m", cell.colour);
      now = cell.colour;
    }
    text += cell.character;
  }
  if (now != 0) text += "\x1b[0m";
  if (!colour) text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

std::string text_picture(const Pipeline& pipeline, const Timeline& times,
                         const TextPictureOptions& options) {
  const int unit = columns_of_unit(pipeline);
  const double shortest = times.shortest_computing();
  // Where nothing takes time rows are empty.
  const double scale = shortest > 0 ? std::min(unit / shortest, kWidest / times.makespan) : 0;
  const auto column = [&](double time) { return static_cast<size_t>(std::lround(time * scale)); };
  const size_t width = column(times.makespan);
  std::vector<Row> rows;
  for (const std::vector<Span>& spans : times.ranks) {
    Row row(width);
    for (size_t at = 0; at < width; at += static_cast<size_t>(unit)) row[at].character = '.';
    for (const Span& span : spans) {
      if (is_computing(span.action.kind))
        draw(row, column(span.start), column(span.end), span, pipeline.chunks);
    }
    rows.push_back(std::move(row));
  }
  const std::string last = format("rank {}", times.ranks.size() - 1);
  size_t panel = std::max<size_t>(width, 1);
  const auto margin = static_cast<int>(last.size()) + 2;
  if (options.columns > margin + unit)
    panel = std::min(panel, static_cast<size_t>((options.columns - margin) / unit * unit));
  std::string text;
  for (size_t from = 0; from < std::max<size_t>(width, 1); from += panel) {
    if (from > 0) text += "\n";
    for (size_t rank = 0; rank < rows.size(); ++rank) {
      text += format("{:<{}} |{}\n", format("rank {}", rank), last.size(),
                     text_of(rows[rank], from, from + panel, options.colour));
    }
  }
  return text;
}

}  // namespace trireme::schedule
