// The three matrix products of a linear layer at GPT-2 124M's shapes: ours beside what other
// libraries this machine has, as shares of the FMA loop, all measured in turn in the same rounds,
// packing included. With few rows, as decoding has, as shares of the copy bandwidth.
//
//   product_bench [--threads=N] [--rounds=N] [NAME...]   the lines that contain all NAMEs, words
//                                                        of lines like "forward qkv 1024"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine.h"
#include "bench/peers.h"
#include "core/format.h"
#include "core/log.h"
#include "core/table.h"
#include "device/cpu/cpu_device.h"
#include "ops/cpu/peak.h"

namespace trireme {
namespace {

using ops::cpu::Factor;
using ops::cpu::Multiplication;

constexpr double kPeakSeconds = 0.02;  // of the FMA loop, in each round
constexpr double kCallSeconds = 0.01;  // at least, of each contestant in each round
constexpr int64_t kFewRows = 16;       // up to here memory is the limit, and weights come from it
constexpr int64_t kFarElements = 64 << 20;  // far more than caches hold

struct Options {
  int threads = usable_cores();
  int rounds = 9;
  std::vector<std::string_view> names;
};

// A matrix product and how its factors are stored.
struct Line {
  std::string name;
  int64_t rows, columns, terms;
  bool left_by_term, right_by_term;
};

std::vector<Line> lines(const Options& options) {
  struct Layer {
    std::string_view name;
    int64_t in, out;
  };
  std::vector<Line> all;
  for (const int64_t rows : {1, 4, 16, 256, 1024, 2048}) {
    for (const Layer& layer :
         {Layer{"qkv", 768, 2304}, Layer{"proj", 768, 768}, Layer{"fc", 768, 3072},
          Layer{"fcproj", 3072, 768}, Layer{"head", 768, 50304}}) {
      const std::string name = format("{} {}", layer.name, rows);
      all.push_back({"forward " + name, rows, layer.out, layer.in, false, false});
      if (rows <= kFewRows) continue;
      all.push_back({"dx " + name, rows, layer.in, layer.out, false, true});
      all.push_back({"dw " + name, layer.out, layer.in, rows, true, true});
    }
  }
  std::erase_if(all, [&](const Line& line) {
    return !std::all_of(options.names.begin(), options.names.end(), [&](std::string_view name) {
      return format(" {} ", line.name).find(format(" {} ", name)) != std::string::npos;
    });
  });
  return all;
}

// Memory as the trainer allocates it: in large pages where the system has them.
class Matrix {
 public:
  Matrix(device::Device& device, int64_t elements) : arena_(device, 4 * elements) {
    for (int64_t i = 0; i < elements; ++i) {
      data()[i] = static_cast<float>(i * 7919 % 1021) / 1021 - 0.5F;
    }
  }
  [[nodiscard]] float* data() const { return reinterpret_cast<float*>(arena_.data()); }

 private:
  device::Arena arena_;
};

// A peer computes one part of the output on each thread: of the rows or of the columns, whichever
// there are more of.
void run_peer(bench::Peer& peer, ThreadPool& pool, const Multiplication& whole) {
  const bool by_rows = whole.rows >= whole.columns;
  const int64_t extent = by_rows ? whole.rows : whole.columns;
  const int64_t part = (extent / pool.threads() + 47) / 48 * 48;
  const auto from_line = [](Factor factor, int64_t line) {
    factor.data += line * (factor.by_term ? 1 : factor.stride);
    return factor;
  };
  pool.parallel_for((extent + part - 1) / part, [&](int64_t index, int) {
    const int64_t first = index * part;
    const int64_t count = std::min(part, extent - first);
    Multiplication p = whole;
    (by_rows ? p.rows : p.columns) = count;
    (by_rows ? p.left : p.right) = from_line(by_rows ? p.left : p.right, first);
    p.out += by_rows ? first * whole.columns : first;
    peer.multiply(p, whole.columns);
  });
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

// A thread alone is measured by its processor time, in which other work on the machine shows least.
double seconds_now(bool alone) {
  timespec time = {};
  ::clock_gettime(alone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Contestant {
  std::string name;
  std::function<void()> run;
  int calls = 1;
  std::vector<double> seconds = {};

  void measure(bool alone) {
    const double begin = seconds_now(alone);
    for (int call = 0; call < calls; ++call) run();
    seconds.push_back((seconds_now(alone) - begin) / calls);
  }
};

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options),
        device_(options.threads),
        machine_(bench::measure_machine(pool_)),
        peers_(bench::peers()),
        columns_({{"product", TextTable::Align::left}, {"ours", TextTable::Align::right}}) {
    bench::print(machine_, options.threads);
    for (const auto& peer : peers_) columns_.emplace_back(peer->name(), TextTable::Align::right);
    if (!peers_.empty()) columns_.emplace_back("ours / best", TextTable::Align::right);
  }

  // Prints the shares of the FMA loop, or of the copy bandwidth, of ours and of the peers.
  void run(const std::vector<Line>& lines, bool few_rows) {
    TextTable table(columns_);
    for (const Line& line : lines) {
      const bool few = std::min(line.rows, line.terms) <= kFewRows;
      if (few == few_rows) measure(line, few, table);
    }
    say(few_rows ? "few rows: shares of the copy bandwidth" : "shares of the FMA loop");
    say(table.text(2));
  }

 private:
  void measure(const Line& line, bool few, TextTable& table) {
    const Matrix left(device_, line.rows * line.terms);
    const int64_t copies =
        few ? std::max<int64_t>(1, kFarElements / (line.terms * line.columns)) : 1;
    const Matrix right(device_, line.terms * line.columns * copies);
    const Matrix out(device_, line.rows * line.columns);
    Multiplication product = {
        .rows = line.rows,
        .columns = line.columns,
        .terms = line.terms,
        .left = {left.data(), line.left_by_term ? line.rows : line.terms, line.left_by_term},
        .right = {right.data(), line.right_by_term ? line.columns : line.terms, line.right_by_term},
        .out = out.data()};
    const device::Arena workspace(device_, ops::cpu::workspace_bytes(product, options_.threads));

    int64_t calls = 0;
    const auto next = [&]() -> const Multiplication& {
      product.right.data = right.data() + calls++ % copies * line.terms * line.columns;
      return product;
    };
    std::vector<Contestant> all = {
        {"ours", [&] { ops::cpu::multiply(pool_, next(), workspace.data()); }}};
    for (const auto& peer : peers_) {
      all.push_back({peer->name(), [&] { run_peer(*peer, pool_, next()); }});
    }
    for (Contestant& contestant : all) {
      contestant.run();
      contestant.measure(options_.threads == 1);
      contestant.calls = 1 + static_cast<int>(kCallSeconds / contestant.seconds.front());
      contestant.seconds.clear();
    }
    std::vector<double> peaks;
    for (int round = 0; round < options_.rounds; ++round) {
      peaks.push_back(ops::cpu::measured_fma_rate(pool_, kPeakSeconds));
      for (Contestant& contestant : all) contestant.measure(options_.threads == 1);
    }

    const auto sizes = [](int64_t a, int64_t b) {
      return static_cast<double>(a) * static_cast<double>(b);
    };
    const double floats = sizes(line.rows, line.terms) + sizes(line.terms, line.columns) +
                          sizes(line.rows, line.columns);
    const double work =
        few ? 4 * floats / machine_.copy_bandwidth
            : 2 * sizes(line.rows, line.columns) * static_cast<double>(line.terms) / median(peaks);
    std::vector<std::string> row = {line.name};
    double worst = 0;  // of ours beside a peer's: time of ours over time of the peer's
    for (const Contestant& contestant : all) {
      row.push_back(format("{:.1f}%", 100 * work / median(contestant.seconds)));
      std::vector<double> ratios;
      for (size_t i = 0; i < contestant.seconds.size(); ++i) {
        ratios.push_back(all[0].seconds[i] / contestant.seconds[i]);
      }
      if (&contestant != &all[0]) worst = std::max(worst, median(ratios));
    }
    if (!peers_.empty()) row.push_back(format("{:.3f}", 1 / worst));
    table.row(std::move(row));
  }

  Options options_;
  device::CpuDevice device_;
  ThreadPool& pool_ = device_.pool();
  bench::Machine machine_;
  std::vector<std::unique_ptr<bench::Peer>> peers_;
  std::vector<std::pair<std::string, TextTable::Align>> columns_;
};

// The number behind "--name=", or what it was.
int number(std::string_view argument, std::string_view flag, int otherwise) {
  if (argument.substr(0, flag.size()) != flag) return otherwise;
  return std::max(1, std::atoi(argument.data() + flag.size()));
}

int run(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    options.threads = number(argument, "--threads=", options.threads);
    options.rounds = number(argument, "--rounds=", options.rounds);
    if (argument.substr(0, 2) != "--") options.names.push_back(argument);
  }
  Bench bench(options);
  const std::vector<Line> chosen = lines(options);
  for (const bool few_rows : {false, true}) bench.run(chosen, few_rows);
  return 0;
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) {
  return trireme::run(argc, argv);
}
