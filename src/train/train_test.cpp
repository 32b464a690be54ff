#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "train/curve.h"
#include "train/fit.h"
#include "train/metrics.h"
#include "train/options.h"

namespace trireme::train {
namespace {

StepReport step(int64_t iteration, double loss) {
  return {.iteration = iteration,
          .consumed_samples = iteration * 4,
          .loss = loss,
          .gradient_norm = 1.5,
          .learning_rate = 1e-3,
          .seconds = 0.5,
          .global_batch = 4,
          .tokens = 1000,
          .flops = 1e9};
}

constexpr RunRates kRates = {.train_iterations = 10, .peak_flops = 4e9};

TEST(LogLine, HasMegatronsFieldsInItsOrder) {
  Interval interval;
  interval.add(step(1, 3));
  interval.add(step(2, 5));
  const std::string line = log_line(interval.take(), kRates, {});
  size_t at = 0;
  for (const char* field :
       {"iteration        2/      10 |", "consumed samples:            8 |",
        "elapsed time per iteration (ms): 500.0 |", "throughput per GPU (TFLOP/s/GPU): 0.002 |",
        "tokens per second: 2000 |", "MFU: 50.0% |", "learning rate: 1.000000E-03 |",
        "global batch size:     4 |", "lm loss: 4.000000E+00 |", "loss scale: 1.0 |",
        "grad norm: 1.500 |", "number of skipped iterations:   0 |",
        "number of nan iterations:   0 |"}) {
    const size_t found = line.find(field, at);
    ASSERT_NE(found, std::string::npos) << field << "\n" << line;
    at = found;
  }
}

TEST(LogLine, NeverHidesANan) {
  Interval interval;
  interval.add(step(1, 3));
  interval.add(step(2, std::numeric_limits<double>::quiet_NaN()));
  const std::string line = log_line(interval.take(), kRates, {});
  EXPECT_NE(line.find("lm loss: NAN"), std::string::npos) << line;
  EXPECT_NE(line.find("number of nan iterations:   1"), std::string::npos) << line;
}

class MetricsFileTest : public testing::Test {
 protected:
  MetricsFileTest()
      : path_(Path(testing::TempDir()) / ("metrics-" + std::to_string(::getpid()) + ".jsonl")) {}
  ~MetricsFileTest() override { std::filesystem::remove(path_); }
  std::vector<nlohmann::json> lines() const {
    std::istringstream text(read_file(path_));
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(text, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  Path path_;
};

TEST_F(MetricsFileTest, StartsWithAHeaderAndHasALineForEachStep) {
  {
    MetricsFile file(path_, 0);
    file.step(step(1, 3), kRates);
    file.step(step(2, std::numeric_limits<double>::quiet_NaN()), kRates);
    file.validation(2, 2, 0);
    file.validation(2, 2, 5.5);
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0]["format"], "trireme-metrics");
  EXPECT_EQ(all[1]["loss"], 3.0);
  EXPECT_EQ(all[1]["mfu"], 0.5);
  EXPECT_EQ(all[2]["loss"], "nan");
  EXPECT_NEAR(all[3]["perplexity"].get<double>(), std::exp(2), 1e-12);
  EXPECT_FALSE(all[3].contains("unigram_entropy"));
  EXPECT_EQ(all[4]["unigram_entropy"], 5.5);
}

TEST_F(MetricsFileTest, KeepsTheLinesUpToTheResumedIterationOnly) {
  {
    MetricsFile file(path_, 0);
    for (int i = 1; i <= 5; ++i) file.step(step(i, i), kRates);
  }
  {
    MetricsFile file(path_, 3);
    file.step(step(4, 40), kRates);
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[3]["iteration"], 3);
  EXPECT_EQ(all[4]["loss"], 40.0);
  { MetricsFile file(path_, 0); }
  EXPECT_EQ(lines().size(), 1U);
}

Curve falling_curve() {
  Curve curve = {.title = "a & b < c", .reference = 4.5, .reference_name = "unigram entropy"};
  for (int i = 1; i <= 200; ++i) curve.train.push_back({i, 3 + 5 * std::exp(-i / 40.0)});
  curve.validation = {{100, 3.6}, {200, 3.1}};
  return curve;
}

TEST(CurveText, FallsFromTheUpperLeftToTheLowerRight) {
  const std::string text = curve_text(falling_curve(), 70, 12);
  std::istringstream lines(text);
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    rows.push_back(line);
    EXPECT_LE(line.size(), 70U);
  }
  const size_t first_star = rows[1].find('*') != std::string::npos ? 1 : 2;
  EXPECT_LT(rows[first_star].find('*'), 14U) << text;
  EXPECT_NE(text.find("o validation loss"), std::string::npos);
  EXPECT_NE(text.find("unigram entropy 4.50"), std::string::npos);
}

TEST(CurveText, SurvivesNothingAndNan) {
  EXPECT_FALSE(curve_text({}, 60, 8).empty());
  Curve curve;
  curve.train = {{1, std::numeric_limits<double>::quiet_NaN()}, {2, 1}};
  EXPECT_FALSE(curve_text(curve, 60, 8).empty());
  EXPECT_EQ(curve_svg(curve).find("nan"), std::string::npos);
}

TEST(CurveSvg, IsWellFormedAndEscaped) {
  const std::string svg = curve_svg(falling_curve());
  EXPECT_NE(svg.find("a &amp; b &lt; c"), std::string::npos);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Options, TurnIntoShapesWithTheRulesOfTheTopology) {
  EXPECT_EQ(topology({}, 1).world_size(), 1);
  config::ParallelOptions parallel;
  parallel.tensor_model_parallel_size = 2;
  EXPECT_EQ(topology(parallel, 6).data(), 3);
  EXPECT_THROW(static_cast<void>(topology(parallel, 3)), Error);
  config::BatchOptions batch;
  batch.micro_batch_size = 4;
  batch.train_iters = 10;
  const auto shapes = [&](const parallel::Topology& ranks) {
    return batch_shapes(run_course(batch, batch.micro_batch_size * ranks.data(), 16),
                        batch.micro_batch_size, ranks);
  };
  EXPECT_EQ(shapes({}).largest.microbatches, 1);
  batch.global_batch_size = 12;
  EXPECT_EQ(shapes({}).largest.microbatches, 3);
  try {
    static_cast<void>(shapes(parallel::Topology(1, 1, 2)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("use 8 or 16"), std::string::npos) << error.what();
  }
}

// A device of which only the size is asked.
class SizedDevice final : public device::Device {
 public:
  explicit SizedDevice(int64_t bytes) : bytes_(bytes) {}
  [[nodiscard]] std::string_view name() const override { return "sized"; }
  [[nodiscard]] int64_t available_bytes() const override { return bytes_; }
  [[nodiscard]] std::unique_ptr<device::Stream> make_stream() override { return nullptr; }
  [[nodiscard]] std::unique_ptr<device::Event> make_event() override { return nullptr; }
  void record(device::Event&, device::Stream&) override {}
  void wait(device::Stream&, const device::Event&) override {}
  void synchronize(device::Stream&) override {}
  void synchronize(const device::Event&) override {}
  void copy_in(device::Stream&, void*, std::span<const std::byte>) override {}
  void copy_out(device::Stream&, std::span<std::byte>, const void*) override {}
  void fill_zero(device::Stream&, void*, int64_t) override {}

 private:
  std::byte* allocate(int64_t) override { return nullptr; }
  void release(std::byte*, int64_t) noexcept override {}
  int64_t bytes_;
};

TEST(RequireMemory, NamesTheLargestSizesThatFit) {
  model::RunRequest request = {.shape = {.layers = 2,
                                         .hidden = 64,
                                         .heads = 4,
                                         .ffn = 256,
                                         .length = 128,
                                         .positions = 128,
                                         .vocabulary = 500},
                               .batch = {.sequences = 12, .microbatches = 2}};
  const auto bytes = [&](int64_t b, int64_t length) {
    model::RunRequest other = request;
    other.batch = {.sequences = b, .microbatches = static_cast<int>(24 / b)};
    other.shape.length = length;
    return model::plan_run(other).memory.total();
  };
  const model::RunPlan plan = model::plan_run(request);
  const auto words = [&](int64_t available) -> std::string {
    try {
      require_memory(request, plan, plan.memory.total(), SizedDevice(available));
    } catch (const Error& error) {
      return error.what();
    }
    return "fits";
  };
  EXPECT_EQ(words(plan.memory.total()), "fits");
  const std::string table = words(plan.memory.total() - 1);
  EXPECT_NE(table.find("optimizer, first moments"), std::string::npos) << table;
  EXPECT_NE(table.find("this would fit: --micro-batch-size 6 ("), std::string::npos) << table;
  EXPECT_NE(words(bytes(3, 128)).find("--micro-batch-size 3 ("), std::string::npos);
  EXPECT_NE(words(bytes(1, 128) - 1).find("--micro-batch-size 1 and --seq-length 64 ("),
            std::string::npos);
  EXPECT_NE(words(1000).find("use a smaller model"), std::string::npos);
}

}  // namespace
}  // namespace trireme::train
