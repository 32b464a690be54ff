#include "core/log.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/error.h"
#include "core/format.h"

namespace trireme {

namespace {
thread_local bool quiet_thread = false;
}  // namespace

void be_quiet(bool quiet) {
  quiet_thread = quiet;
}
bool is_quiet() {
  return quiet_thread;
}

void say(std::string_view line) {
  if (quiet_thread) return;
  std::string text(line);
  text += '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

namespace {

void tell(const char* kind, std::string_view line) {
  if (quiet_thread) return;
  const std::string text = place().empty() ? format("{}: {}\n", kind, line)
                                           : format("[{}] {}: {}\n", place(), kind, line);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void warn(std::string_view line) {
  tell("warning", line);
}
void note(std::string_view line) {
  tell("note", line);
}

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) == 1;
}

int terminal_columns() {
  winsize size = {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

Progress::Progress(std::string title, std::string unit, uint64_t total)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      total_(total),
      terminal_(is_terminal(STDERR_FILENO)),
      start_(std::chrono::steady_clock::now()),
      shown_(start_) {}

Progress::~Progress() {
  if (!finished_ && terminal_ && done_ > 0) fmt::print(stderr, "\n");
}

void Progress::update(uint64_t done, std::string_view detail) {
  done_ = done;
  const auto now = std::chrono::steady_clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10);
  if (now - shown_ < pause || quiet_thread) return;
  shown_ = now;
  show(false, detail);
}

void Progress::finish(std::string_view detail) {
  finished_ = true;
  if (!quiet_thread) show(true, detail);
}

void Progress::show(bool last, std::string_view detail) {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double rate = static_cast<double>(done_) / std::max(seconds, 1e-9);
  std::string text = format("{}: {} {}", title_, count_text(static_cast<double>(done_)), unit_);
  if (total_ > 0 && !last) {
    const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    if (terminal_) {
      const int width = std::clamp(terminal_columns() - 70, 0, 30);
      const int full = static_cast<int>(share * width);
      text += format(" [{:=<{}}{: <{}}]", "", full, "", width - full);
    }
    text += format(" {:.0f}%", share * 100);
    if (done_ > 0)
      text += format(", {} left",
                     duration_text(static_cast<double>(total_ - std::min(done_, total_)) / rate));
  }
  text += format(", {} {}/s", count_text(rate), unit_);
  if (last) text += format(", {}", duration_text(seconds));
  if (!detail.empty()) text += format(", {}", detail);
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}{}", text.substr(0, static_cast<size_t>(terminal_columns()) - 1),
               last ? "\n" : "");
  } else {
    fmt::print(stderr, "{}\n", text);
  }
  std::fflush(stderr);
}

std::string bytes_text(double bytes) {
  static constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? format("{:.0f} B", bytes)
                   : format("{:.{}f} {}", bytes, bytes < 100 ? 1 : 0, kUnits[unit]);
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 0.1) return format("{:.1f} ms", seconds * 1e3);
  if (seconds < 10) return format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return format("{} s", whole);
  if (whole < 3600) return format("{} min {:02} s", whole / 60, whole % 60);
  if (whole < 86400) return format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  return format("{} d {:02} h", whole / 86400, whole % 86400 / 3600);
}

std::string count_text(double count) {
  static constexpr std::array kUnits = {"", " k", " M", " G", " T", " P"};
  if (std::abs(count) < 10000) return format("{:.{}f}", count, count == std::floor(count) ? 0 : 1);
  size_t unit = 0;
  while (std::abs(count) >= 1000 && unit + 1 < kUnits.size()) {
    count /= 1000;
    ++unit;
  }
  return format("{:.{}f}{}", count, count < 100 ? 1 : 0, kUnits[unit]);
}

}  // namespace trireme
