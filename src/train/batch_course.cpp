#include "train/batch_course.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/format.h"

namespace trireme::train {
namespace {

constexpr const char* kSteps = "--step-batch-size-schedule";

[[noreturn]] void refuse_steps(const std::string& what) {
  fail_usage({.where = kSteps,
              .what = what,
              .rule = "items are TOKENS:SEQUENCES, the first threshold 0 and each above the last; "
                      "K, M, B and T are powers of a thousand",
              .remedy = "write it as \"0:768 250B:1536 500B:3072\""});
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "250B" as 250e9; nothing for what is no count.
std::optional<double> tokens_of(std::string_view text) {
  constexpr std::string_view kSuffixes = "KMBT";
  double unit = 1;
  if (!text.empty()) {
    const size_t suffix = kSuffixes.find(text.back());
    if (suffix != std::string_view::npos) {
      unit = std::pow(1000.0, static_cast<double>(suffix + 1));
      text.remove_suffix(1);
    }
  }
  const auto value = number(text);
  constexpr double kMost = 9e18;  // fits 63 bits
  if (!value || !(*value >= 0) || *value * unit > kMost) return std::nullopt;
  return *value * unit;
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t,";
  std::vector<std::string_view> words;
  for (size_t at = 0; (at = text.find_first_not_of(kBlanks, at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace

BatchCourse BatchCourse::constant(int64_t batch) {
  return BatchCourse({{0, batch}});
}

BatchCourse BatchCourse::ramp_up(int64_t start, int64_t increment, int64_t samples, int64_t batch) {
  const int64_t increments = (batch - start) / increment;
  std::vector<Stage> stages = {{0, start}};
  const double each = static_cast<double>(samples) / static_cast<double>(increments);
  for (int64_t step = 1; step <= increments; ++step) {
    // The first position n with floor(n / each) >= step, in doubles as Megatron-LM computes it;
    // behind `samples` the batch is whole in any case.
    const auto reached = [&](int64_t n) {
      return n > samples || static_cast<int64_t>(static_cast<double>(n) / each) >= step;
    };
    auto from = static_cast<int64_t>(std::ceil(static_cast<double>(step) * each));
    while (!reached(from)) ++from;
    while (reached(from - 1)) --from;
    stages.push_back({from, start + step * increment});
  }
  return BatchCourse(std::move(stages));
}

BatchCourse BatchCourse::steps(std::string_view text, int64_t sequence_length) {
  std::vector<Stage> stages;
  for (const std::string_view word : words_of(text)) {
    const size_t colon = word.find(':');
    const auto tokens = tokens_of(word.substr(0, colon));
    const auto batch =
        colon == std::string_view::npos ? std::nullopt : number(word.substr(colon + 1));
    if (!tokens || !batch || *batch < 1 || *batch > 1 << 30 || *batch != std::floor(*batch)) {
      refuse_steps(format("'{}' is not a step", word));
    }
    const auto from = static_cast<int64_t>(*tokens) / sequence_length;
    if (stages.empty() ? *tokens != 0 : from <= stages.back().from) {
      refuse_steps(format("the threshold of '{}' is out of order", word));
    }
    stages.push_back({from, static_cast<int64_t>(*batch)});
  }
  if (stages.empty()) refuse_steps("it is empty");
  return BatchCourse(std::move(stages));
}

int64_t BatchCourse::at(int64_t consumed_samples) const {
  const auto behind =
      std::upper_bound(stages_.begin(), stages_.end(), consumed_samples,
                       [](int64_t samples, const Stage& stage) { return samples < stage.from; });
  return std::prev(behind)->batch;
}

int64_t BatchCourse::largest() const {
  return std::max_element(stages_.begin(), stages_.end(),
                          [](const Stage& a, const Stage& b) { return a.batch < b.batch; })
      ->batch;
}

int64_t BatchCourse::iterations_within(int64_t samples) const {
  int64_t consumed = 0;
  int64_t iterations = 0;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const int64_t batch = stages_[i].batch;
    // Batches that begin within the stage; the last one may reach into the next stages.
    const bool last = i + 1 == stages_.size();
    const int64_t end = last ? samples : stages_[i + 1].from;
    const int64_t begun = last ? (end - consumed) / batch : (end - consumed + batch - 1) / batch;
    const int64_t fit = (samples - consumed) / batch;
    const int64_t count = std::clamp(begun, int64_t{0}, std::max<int64_t>(fit, 0));
    iterations += count;
    consumed += count * batch;
    if (!last && fit < begun) break;
  }
  return iterations;
}

int64_t BatchCourse::samples_of(int64_t iterations) const {
  int64_t consumed = 0;
  for (size_t i = 0; i < stages_.size() && iterations > 0; ++i) {
    const int64_t batch = stages_[i].batch;
    int64_t count = iterations;
    if (i + 1 < stages_.size()) {
      const int64_t begun = (stages_[i + 1].from - consumed + batch - 1) / batch;
      count = std::clamp(begun, int64_t{0}, iterations);
    }
    consumed += count * batch;
    iterations -= count;
  }
  return consumed;
}

namespace {

BatchCourse batch_course(const config::BatchOptions& options, int64_t default_batch,
                         int64_t sequence_length) {
  if (options.step_batch_size_schedule) {
    return BatchCourse::steps(*options.step_batch_size_schedule, sequence_length);
  }
  const int64_t batch = options.global_batch_size.value_or(default_batch);
  const auto ramp = options.ramp_up();
  if (!ramp) return BatchCourse::constant(batch);
  return BatchCourse::ramp_up(ramp->start, ramp->increment, ramp->samples, batch);
}

}  // namespace

RunCourse run_course(const config::BatchOptions& options, int64_t default_batch,
                     int64_t sequence_length) {
  RunCourse course = {.batch = batch_course(options, default_batch, sequence_length)};
  if (options.train_iters) {
    course.iterations = *options.train_iters;
    course.samples = course.batch.samples_of(course.iterations);
    return course;
  }
  course.samples = *options.train_samples;
  course.iterations = course.batch.iterations_within(course.samples);
  if (course.iterations == 0) {
    fail_usage(
        {.where = "--train-samples",
         .what = format("{} sequences, the first batch has {}", course.samples, course.batch.at(0)),
         .rule = "a run has at least one batch",
         .remedy = "give more samples or a smaller batch"});
  }
  return course;
}

}  // namespace trireme::train
