#include "train/agreement.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "comm/gather_text.h"
#include "config/run_file.h"
#include "core/error.h"
#include "core/format.h"
#include "core/mapped_file.h"
#include "text/vocabulary.h"
#include "train/together.h"

namespace trireme::train {
namespace {

struct Line {
  std::string name;
  std::string value;
};

// Without comments and empty lines.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const size_t equals = line.find(" = ");
    if (equals == std::string_view::npos) {
      lines.push_back({std::string(line), ""});
    } else {
      lines.push_back({std::string(line.substr(0, equals)), std::string(line.substr(equals + 3))});
    }
  }
  return lines;
}

// A value of one line, none where there is no such line, and who has it.
struct Held {
  std::optional<std::string> value;
  std::vector<int> ranks;
};

std::vector<Held> values_of(const std::string& name, const std::vector<std::vector<Line>>& ranks) {
  std::vector<Held> values;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto line = std::find_if(ranks[rank].begin(), ranks[rank].end(),
                                   [&](const Line& other) { return other.name == name; });
    const auto value = line == ranks[rank].end() ? std::nullopt : std::optional(line->value);
    auto held = std::find_if(values.begin(), values.end(),
                             [&](const Held& other) { return other.value == value; });
    if (held == values.end()) held = values.insert(held, {.value = value, .ranks = {}});
    held->ranks.push_back(static_cast<int>(rank));
  }
  return values;
}

// "lr = 0.001 on ranks 0-2 and 4, lr = 0.01 on rank 3": the first line, in the order of the ranks,
// that not all have alike.
std::string difference(const std::vector<std::string>& texts) {
  std::vector<std::vector<Line>> ranks;
  for (const std::string& text : texts) ranks.push_back(lines_of(text));
  for (const std::vector<Line>& lines : ranks) {
    for (const Line& line : lines) {
      const std::vector<Held> values = values_of(line.name, ranks);
      if (values.size() == 1) continue;
      std::string text;
      for (const auto& [value, who] : values) {
        text += format("{}{} {} on {}", text.empty() ? "" : ", ", line.name,
                       value ? "= " + *value : "not set", ranks_text(who));
      }
      return text;
    }
  }
  return "the same lines in another order";
}

}  // namespace

void require_same(comm::Communicator& world, device::Stream& stream, const Subject& subject) {
  const auto all_same = [](const std::vector<std::string>& texts) {
    return std::adjacent_find(texts.begin(), texts.end(), std::not_equal_to<>()) == texts.end();
  };
  const std::string own =
      checksum(std::as_bytes(std::span(subject.lines.data(), subject.lines.size())));
  if (all_same(comm::gather_texts(world, stream, own))) return;
  fail({.where = subject.name,
        .what = difference(comm::gather_texts(world, stream, subject.lines)),
        .rule = format("all ranks of a run have the same {}", subject.name),
        .remedy = subject.remedy});
}

Subject build_subject() {
  const MappedFile program("/proc/self/exe");
  return {.name = "build",
          .lines = format("program = {}\n", checksum(program.bytes())),
          .remedy = "install one build of the program on all hosts"};
}

namespace {

// Options that name a file whose content all ranks go by. Data have a subject of their own.
constexpr std::array<std::string_view, 4> kReadByAll = {"schedule-file", "vocab-file", "merge-file",
                                                        "tokenizer-model"};

std::string contents(std::span<const config::GroupView> groups) {
  std::string lines;
  for (const config::GroupView& view : groups) {
    for (const config::Field& field : view.group->fields) {
      if (std::find(kReadByAll.begin(), kReadByAll.end(), field.name) == kReadByAll.end()) continue;
      const config::Value value = field.get(view.options);
      const auto* path = std::get_if<std::string>(&value);
      if (path == nullptr || !std::filesystem::exists(*path)) continue;
      for (const Path& name : text::tokenizer_files(*path)) {  // a file is its own
        const MappedFile file(name);
        const std::string which = name == *path ? "" : format("/{}", name.filename().string());
        lines += format("content of {}{} = {}\n", field.name, which, checksum(file.bytes()));
      }
    }
  }
  return lines;
}

}  // namespace

Subject options_subject(std::string_view subcommand, std::span<const config::GroupView> groups) {
  return {.name = "options",
          .lines = format("subcommand = {}\n", subcommand) + config::option_lines(groups) +
                   contents(groups),
          .remedy = "start all ranks with the same command line and run file"};
}

namespace {

// Of samples spread over the part, ends included.
std::string samples_checksum(const data::SampleSource& source) {
  const int64_t count = std::min<int64_t>(16, source.samples());
  std::vector<int32_t> tokens(static_cast<size_t>(source.sequence_length()) + 1);
  std::string sums;
  for (int64_t i = 0; i < count; ++i) {
    source.read(i * (source.samples() - 1) / std::max<int64_t>(1, count - 1), tokens);
    sums += checksum(std::as_bytes(std::span(tokens)));
  }
  return checksum(std::as_bytes(std::span(sums.data(), sums.size())));
}

// Of blocks spread over the tokens, ends included; of few tokens all. Datasets share a number of
// blocks, since each may be a read from a file system far away.
std::string tokens_checksum(const data::IndexedDataset& dataset, size_t datasets) {
  constexpr int64_t kBlock = 4096;
  const auto most = std::max<int64_t>(16, 256 / static_cast<int64_t>(datasets));
  const int64_t blocks = std::min(most, (dataset.tokens() + kBlock - 1) / kBlock);
  std::vector<int32_t> tokens(static_cast<size_t>(std::min(kBlock, dataset.tokens())));
  const int64_t last = dataset.tokens() - static_cast<int64_t>(tokens.size());
  std::string sums;
  for (int64_t i = 0; i < blocks; ++i) {
    dataset.read_stream(last * i / std::max<int64_t>(1, blocks - 1), tokens);
    sums += checksum(std::as_bytes(std::span(tokens)));
  }
  return checksum(std::as_bytes(std::span(sums.data(), sums.size())));
}

}  // namespace

std::string data_lines(data::Part part, const data::OpenPart& opened) {
  const std::string_view name = data::name_of(part);
  std::string lines;
  for (size_t i = 0; i < opened.datasets.size(); ++i) {
    const data::IndexedDataset& dataset = opened.datasets[i].samples->dataset();
    lines += format("documents of {} dataset {} = {}\n", name, i + 1, dataset.documents());
    lines += format("tokens of {} dataset {} = {}\n", name, i + 1, dataset.tokens());
    lines += format("content of {} dataset {} = {}\n", name, i + 1,
                    tokens_checksum(dataset, opened.datasets.size()));
  }
  lines += format("samples of {} = {}\n", name, opened.source->samples());
  lines += format("content of {} samples = {}\n", name, samples_checksum(*opened.source));
  return lines;
}

Subject data_subject(const RunData& data) {
  std::string lines;
  for (const data::Part part : data::kParts) {
    const data::OpenPart& opened = data.sources[part];
    if (opened.source != nullptr) lines += data_lines(part, opened);
  }
  return {
      .name = "data", .lines = lines, .remedy = "give all hosts the same copies of the datasets"};
}

}  // namespace trireme::train
