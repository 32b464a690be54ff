#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/format.h"
#include "core/nearest_values.h"
#include "parallel/stages.h"

namespace trireme::parallel {
namespace {

constexpr size_t kLongest = 1'000'000;  // of a layout with its repetitions written out
constexpr int kDeepest = 32;            // of brackets in brackets
constexpr int kMostStagesShown = 64;    // one by one, in a remedy

[[noreturn]] void refuse(const std::string& what, const std::string& rule,
                         const std::string& remedy) {
  fail_usage(
      {.where = "pipeline-model-parallel-layout", .what = what, .rule = rule, .remedy = remedy});
}

// Writes the repetitions of a layout's text out, so that only E, t, L and | are left.
class Expander {
 public:
  explicit Expander(std::string_view text) : text_(text) {}

  std::string whole() {
    std::string out = sequence(0);
    if (at_ < text_.size()) fail_here("a bracket that was not opened");
    return out;
  }

 private:
  std::string sequence(int depth) {
    if (depth > kDeepest) fail_here(format("more than {} brackets in brackets", kDeepest));
    std::string out;
    while (at_ < text_.size() && text_[at_] != ')') {
      const char character = text_[at_];
      std::string item;
      if (character == '(') {
        ++at_;
        item = sequence(depth + 1);
        if (at_ == text_.size()) fail_here("a bracket that is not closed");
      } else if (character == 'm') {
        fail_here("m, a layer for multi-token prediction, which this model does not have");
      } else if (std::string_view("EtL|").find(character) != std::string_view::npos) {
        item = character;
      } else if (character != ',' && character != ' ') {
        fail_here(format("'{}'", character));
      }
      ++at_;
      const int times = item.empty() && character != '(' ? 1 : repetitions();
      if (out.size() + item.size() * static_cast<size_t>(times) > kLongest)
        fail_here("more layers and stages than any model has");
      for (int k = 0; k < times; ++k) out += item;
    }
    return out;
  }

  // The N of "*N" that may follow an item; otherwise 1.
  int repetitions() {
    if (at_ == text_.size() || text_[at_] != '*') return 1;
    ++at_;
    int times = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), times);
    if (error != std::errc() || times < 1) fail_here("* without a number of at least 1");
    at_ = static_cast<size_t>(end - text_.data());
    return times;
  }

  [[noreturn]] void fail_here(const std::string& what) const {
    refuse(
        format("at character {}: {}", at_ + 1, what),
        "E is the embedding, t a layer, L head and loss, | divides stages, x*N and (...)*N repeat",
        "write it like Et*3|(tt|)*4ttL");
  }

  std::string_view text_;
  size_t at_ = 0;
};

// As in "t*3"; nothing for none.
std::string repeated(int layers) {
  if (layers < 3) return std::string(static_cast<size_t>(layers), 't');
  return format("t*{}", layers);
}

// Equally many layers in every stage, or one more in the last ones.
std::string equal_text(int stages, int layers) {
  const int more = layers % stages;
  const std::string few = repeated(layers / stages);
  const std::string many = repeated(layers / stages + 1);
  if (more == 0) return format("E({}|)*{}{}L", few, stages - 1, few);
  std::string text = format("E({}|)*{}", few, stages - more);
  if (more > 1) text += format("({}|)*{}", many, more - 1);
  return text + many + "L";
}

// A layout of so many layers that differs little from one that is none: stages that are too many
// or too few for p are at the end; layers go to where fewest are and leave where most are.
std::string nearest_text(Layout layout, int layers) {
  const int p = layout.pipeline;
  const int stages = std::max(p, (layout.stages() + (p - 1) / 2) / p * p);
  if (stages > kMostStagesShown) return equal_text(stages, layers);
  std::vector<int>& counts = layout.layers_of;
  counts.resize(static_cast<size_t>(stages));
  for (int missing = layers - layout.layers(); missing > 0; --missing)
    ++*std::min_element(counts.rbegin(), counts.rend());
  for (int excess = layout.layers() - layers; excess > 0; --excess)
    --*std::max_element(counts.begin(), counts.end());
  return layout.text();
}

}  // namespace

std::string Layout::text() const {
  std::string text = "E";
  for (size_t stage = 0; stage < layers_of.size(); ++stage)
    text += (stage > 0 ? "|" : "") + repeated(layers_of[stage]);
  return text + "L";
}

Layout parse_layout(std::string_view text, int layers, int pipeline_size) {
  const std::string whole = Expander(text).whole();
  Layout layout = {.pipeline = pipeline_size, .layers_of = {0}};
  for (const char character : whole) {
    if (character == '|') layout.layers_of.push_back(0);
    if (character == 't') ++layout.layers_of.back();
  }
  const auto is_once = [&](char part) { return std::count(whole.begin(), whole.end(), part) == 1; };
  if (!is_once('E') || whole.front() != 'E') {
    refuse("the embedding (E) is not first, once",
           "the model's parts stand in its order, each exactly once",
           format("write it like {}", nearest_text(layout, layers)));
  }
  if (!is_once('L') || whole.back() != 'L') {
    refuse("head and loss (L) are not last, once",
           "the model's parts stand in its order, each exactly once",
           format("write it like {}", nearest_text(layout, layers)));
  }
  if (layout.layers() != layers) {
    refuse(format("{} of {} layers placed", layout.layers(), layers),
           "every layer has its place, exactly once",
           format("write it like {}", nearest_text(layout, layers)));
  }
  if (layout.stages() % pipeline_size != 0) {
    refuse(format("{} stages for {} pipeline ranks", layout.stages(), pipeline_size),
           "the number of stages is a multiple of p",
           format("make {} of them, like {}", nearest_multiples(layout.stages(), pipeline_size),
                  nearest_text(layout, layers)));
  }
  return layout;
}

}  // namespace trireme::parallel
