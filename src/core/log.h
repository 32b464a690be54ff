#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace trireme {

/// Of several ranks that come to the same results, one tells them: on this thread the functions
/// below, and Progress, write nothing.
void be_quiet(bool quiet);
[[nodiscard]] bool is_quiet();

/// One line to standard output, flushed; whole even when several threads write.
void say(std::string_view line);
/// One line to standard error, with "warning: " and the rank's place.
void warn(std::string_view line);

/// The same with "note: ", for what is as it should be but may not be what was expected.
void note(std::string_view line);

[[nodiscard]] bool is_terminal(int descriptor);

/// Columns of the terminal on standard error; 80 where there is none.
[[nodiscard]] int terminal_columns();

/// Progress of long work: a bar on a terminal (standard error), a plain line every ten seconds
/// elsewhere. update() is cheap and may be called per item by one thread.
class Progress {
 public:
  /// total 0: unknown, only counts and rates are shown.
  Progress(std::string title, std::string unit, uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// done in units so far; detail is shown behind the rate, as in "12.3 MB/s".
  void update(uint64_t done, std::string_view detail = {});
  /// Final line.
  void finish(std::string_view detail = {});

 private:
  void show(bool last, std::string_view detail);

  std::string title_;
  std::string unit_;
  uint64_t total_;
  uint64_t done_ = 0;
  bool terminal_;
  bool finished_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point shown_;
};

/// As in "1.5 MiB", "4 h 12 min", "12.3 k".
[[nodiscard]] std::string bytes_text(double bytes);
[[nodiscard]] std::string duration_text(double seconds);
[[nodiscard]] std::string count_text(double count);

}  // namespace trireme
