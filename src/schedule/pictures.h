#pragma once
#include <string>

#include "schedule/timeline.h"

// A run of a schedule for readers: people, browsers, programs. Each is a function of the pipeline
// and its times; docs/formats.md.

namespace trireme::schedule {

struct TextPictureOptions {
  int columns = 0;      ///< break rows that are longer; 0: never
  bool colour = false;  ///< of a terminal: blue forwards, green backwards
};

/// A row for each rank, time to the right: microbatch numbers, behind the chunk's letter where a
/// rank has several; === behind a backward's, --- an input gradient's, ~~~ a weight gradient's; a
/// dot for each unit of idle time (the shortest computing).
[[nodiscard]] std::string text_picture(const Pipeline& pipeline, const Timeline& times,
                                       const TextPictureOptions& options = {});

/// Like figures 3 and 4 of SC'21: a row for each device, time to the right, forwards blue,
/// backwards green, weight gradients purple, dark to light by chunk, idle grey.
[[nodiscard]] std::string svg_picture(const Pipeline& pipeline, const Timeline& times);

/// Chrome's trace format, as `train --trace` writes it: a process for each rank, its row 0 has the
/// actions; row 1 what it sends, where that takes time. The unit of the durations is taken for
/// milliseconds.
[[nodiscard]] std::string chrome_trace(const Timeline& times);

/// Sizes, bubble, and for each rank what it needs and when it does what; "trireme-timeline".
[[nodiscard]] std::string json(const Pipeline& pipeline, const Timeline& times);

}  // namespace trireme::schedule
