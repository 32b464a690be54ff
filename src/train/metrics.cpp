#include "train/metrics.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/log.h"

namespace trireme::train {
namespace {

constexpr const char* kFormatName = "trireme-metrics";
constexpr int kFormatVersion = 1;

std::string timestamp(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm local = {};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> text = {};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() %
      1000000;
  return format("{}.{:06}", text.data(), micros);
}

// JSON has no NaN and no infinity: they are written as strings, so that nothing is hidden.
nlohmann::ordered_json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

// The lines of an earlier part of the run, up to an iteration.
std::string lines_up_to(const Path& path, int64_t iteration) {
  if (!std::filesystem::exists(path)) return "";
  const std::string content = read_file(path);
  std::string kept;
  size_t at = 0;
  while (at < content.size()) {
    const size_t end = content.find('\n', at);
    if (end == std::string::npos) break;  // a line that a kill cut off
    const std::string line = content.substr(at, end - at);
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.value("iteration", int64_t{0}) <= iteration) kept += line + "\n";
    at = end + 1;
  }
  return kept;
}

// Starts the file: with a header, or what is kept of the earlier part.
const Path& with_lines_up_to(const Path& path, int64_t resumed_iteration) {
  const std::string kept = resumed_iteration > 0 ? lines_up_to(path, resumed_iteration) : "";
  const nlohmann::ordered_json header = {{"format", kFormatName}, {"version", kFormatVersion}};
  write_file(path, kept.empty() ? header.dump() + "\n" : kept);
  return path;
}

}  // namespace

IntervalReport Interval::take() {
  IntervalReport report;
  const auto count = static_cast<double>(steps_.size());
  double seconds = 0;
  double tokens = 0;
  double flops = 0;
  for (const StepReport& step : steps_) {
    report.loss += step.loss / count;
    seconds += step.seconds;
    tokens += static_cast<double>(step.tokens);
    flops += step.flops;
    report.skipped_iterations += step.skipped ? 1 : 0;
    report.nan_iterations += std::isfinite(step.loss) && std::isfinite(step.gradient_norm) ? 0 : 1;
  }
  const StepReport& last = steps_.back();
  report.iteration = last.iteration;
  report.consumed_samples = last.consumed_samples;
  report.gradient_norm = last.gradient_norm;
  report.learning_rate = last.learning_rate;
  report.global_batch = last.global_batch;
  report.flops_per_second = flops / seconds;
  report.seconds_per_step = seconds / count;
  report.tokens_per_second = tokens / seconds;
  steps_.clear();
  return report;
}

std::string log_line(const IntervalReport& report, const RunRates& rates,
                     std::chrono::system_clock::time_point now) {
  return format(
      " [{}] iteration {:8}/{:8} | consumed samples: {:12} | elapsed time per iteration (ms): "
      "{:.1f} | "
      "throughput per GPU (TFLOP/s/GPU): {:.3f} | tokens per second: {:.0f} | MFU: {:.1f}% | "
      "learning rate: {:.6E} | "
      "global batch size: {:5} | lm loss: {:.6E} | loss scale: 1.0 | grad norm: {:.3f} | "
      "number of skipped iterations: {:3} | number of nan iterations: {:3} |",
      timestamp(now), report.iteration, rates.train_iterations, report.consumed_samples,
      report.seconds_per_step * 1e3, report.flops_per_second / 1e12, report.tokens_per_second,
      100 * report.flops_per_second / rates.peak_flops, report.learning_rate, report.global_batch,
      report.loss, report.gradient_norm, report.skipped_iterations, report.nan_iterations);
}

std::string validation_line(int64_t iteration, double loss, std::string_view where) {
  return format(
      " validation loss at iteration {}{} | lm loss value: {:.6E} | lm loss PPL: {:.6E} |",
      iteration, where, loss, std::exp(std::min(20.0, loss)));
}

MetricsFile::MetricsFile(const Path& path, int64_t resumed_iteration)
    : file_(with_lines_up_to(path, resumed_iteration)) {}

void MetricsFile::step(const StepReport& report, const RunRates& rates) {
  const nlohmann::ordered_json json = {
      {"iteration", report.iteration},
      {"consumed_samples", report.consumed_samples},
      {"loss", number(report.loss)},
      {"grad_norm", number(report.gradient_norm)},
      {"learning_rate", report.learning_rate},
      {"skipped", report.skipped},
      {"seconds", report.seconds},
      {"tokens_per_second", static_cast<double>(report.tokens) / report.seconds},
      {"global_batch", report.global_batch},
      {"mfu", report.flops / report.seconds / rates.peak_flops}};
  file_.append(json.dump() + "\n");
}

void MetricsFile::validation(int64_t iteration, double loss, double unigram_entropy) {
  nlohmann::ordered_json json = {{"iteration", iteration},
                                 {"validation_loss", number(loss)},
                                 {"perplexity", number(std::exp(loss))}};
  if (unigram_entropy > 0) json["unigram_entropy"] = unigram_entropy;
  file_.append(json.dump() + "\n");
}

LiveDisplay::LiveDisplay(bool wanted, int64_t train_iterations)
    : on_(wanted && is_terminal(STDERR_FILENO)), train_iterations_(train_iterations) {}

LiveDisplay::~LiveDisplay() {
  clear();
}

void LiveDisplay::show(const StepReport& report, const RunRates& rates) {
  if (!on_) return;
  // Smoothed over about 20 steps: readable, and still follows.
  constexpr double kNew = 0.05;
  smooth_loss_ =
      smooth_loss_ == 0 ? report.loss : smooth_loss_ + kNew * (report.loss - smooth_loss_);
  const double rate = report.flops / report.seconds;
  smooth_rate_ = smooth_rate_ == 0 ? rate : smooth_rate_ + kNew * (rate - smooth_rate_);
  smooth_seconds_ = smooth_seconds_ == 0
                        ? report.seconds
                        : smooth_seconds_ + kNew * (report.seconds - smooth_seconds_);
  const double left = static_cast<double>(train_iterations_ - report.iteration) * smooth_seconds_;
  const double share =
      static_cast<double>(report.iteration) / static_cast<double>(train_iterations_);
  std::string text = format("step {}/{}  loss {:.3f}  {} tok/s  MFU {:.0f}%  {} left",
                            report.iteration, train_iterations_, smooth_loss_,
                            count_text(static_cast<double>(report.tokens) / smooth_seconds_),
                            100 * smooth_rate_ / rates.peak_flops, duration_text(left));
  const int width = std::min(30, terminal_columns() - static_cast<int>(text.size()) - 5);
  if (width >= 8) {
    const int full = static_cast<int>(share * width);
    text += format("  [{:=<{}}{: <{}}]", "", full, "", width - full);
  }
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
  shown_ = true;
}

void LiveDisplay::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace trireme::train
