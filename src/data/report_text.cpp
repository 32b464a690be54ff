// The report for the eye.

#include <algorithm>

#include "core/format.h"
#include "core/log.h"
#include "core/table.h"
#include "data/report.h"

namespace trireme::data {
namespace {

using Align = TextTable::Align;

constexpr int64_t kExcerptTokens = 40;
constexpr int64_t kExcerptSamples = 32;  // looked at for something to show

std::string count(int64_t n) {
  return n < 10000 ? format("{}", n) : count_text(static_cast<double>(n));
}

std::string share_text(std::optional<double> share) {
  return share ? format("{:.2f}%", 100 * *share) : "-";
}

std::string epochs_text(double epochs) {
  return format("{:.2f} epoch{}", epochs, epochs == 1 ? "" : "s");
}

std::string line_of(const PartReport& part, const SourceReport& source) {
  std::string eod;
  if (source.eod_share) eod = format(" ({} end-of-document)", share_text(source.eod_share));
  return format("data: {}: {}: {} documents, {} tokens{}; {} samples = {}, {} tokens left out",
                name_of(part.part), source.name, count(source.documents), count(source.tokens), eod,
                count(source.samples), epochs_text(source.epochs), count(source.left_out));
}

std::string table_of(const PartReport& part) {
  TextTable table({{"dataset", Align::left},
                   {"weight", Align::right},
                   {"documents", Align::right},
                   {"tokens", Align::right},
                   {"EOD", Align::right},
                   {"samples", Align::right},
                   {"epochs", Align::right},
                   {"left out", Align::right}});
  SourceReport all;
  for (const SourceReport& source : part.sources) {
    table.row({source.name, source.weight ? format("{:.4f}", *source.weight) : "-",
               count(source.documents), count(source.tokens), share_text(source.eod_share),
               count(source.samples), format("{:.2f}", source.epochs), count(source.left_out)});
    all.documents += source.documents;
    all.tokens += source.tokens;
    all.left_out += source.left_out;
  }
  table.rule();
  table.row({"all", "", count(all.documents), count(all.tokens), "", count(part.samples), "",
             count(all.left_out)});
  return format("data: {}, {} datasets\n{}", name_of(part.part), part.sources.size(),
                table.text(2));
}

/// Text on one line: line feeds and other control bytes are spelled.
std::string on_one_line(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    if (byte == '\n') {
      text += "\\n";
    } else if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) {
      text += format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      text += byte;
    }
  }
  return text;
}

bool restarts(const BatchFields& fields, int64_t position) {
  const auto at = static_cast<size_t>(position);
  return position > 0 && (fields.positions[at] == 0 || fields.segment_starts[at] == position);
}

/// The first place that a rule changes; s where there is none.
int64_t first_change(const BatchFields& fields) {
  int64_t position = 0;
  while (position < fields.positions_per_sequence &&
         fields.loss_mask[static_cast<size_t>(position)] != 0.0F && !restarts(fields, position)) {
    ++position;
  }
  return position;
}

}  // namespace

std::string DataReport::text() const {
  std::string text;
  const auto add = [&](std::string line) {
    if (!text.empty() && text.back() != '\n') text += "\n";
    text += std::move(line);
  };
  for (const PartReport& part : parts) {
    if (part.sources.empty()) {
      add(format("data: {}: mock data, {} samples", name_of(part.part), count(part.samples)));
    } else if (part.sources.size() == 1) {
      add(line_of(part, part.sources[0]));
    } else {
      add(table_of(part));
    }
  }
  if (!excerpt.empty()) add("data: " + excerpt);
  return text;
}

std::string excerpt_of(const Batches& batches, const text::Tokenizer* tokenizer) {
  BatchFields fields;
  const int64_t s = batches.sequence_length();
  const int64_t looked_at = std::min(batches.samples(), kExcerptSamples);
  int64_t sample = 0;
  int64_t interesting = s;
  for (int64_t k = 0; k < looked_at && interesting == s; ++k) {
    sample = k;
    batches.fill(k, 1, fields);
    interesting = first_change(fields);
  }
  if (interesting == s) {
    sample = 0;
    interesting = 0;
    batches.fill(sample, 1, fields);
  }
  const int64_t begin = std::clamp(interesting - kExcerptTokens / 2, int64_t{0},
                                   std::max<int64_t>(0, s - kExcerptTokens));
  const int64_t end = std::min(s, begin + kExcerptTokens);
  // Text of neighbours is decoded together: a character may be several tokens.
  std::vector<std::string> pieces;
  std::vector<int32_t> run;
  const auto flush = [&] {
    if (run.empty()) return;
    pieces.push_back(tokenizer != nullptr ? on_one_line(tokenizer->decode(run))
                                          : format("{}", fmt::join(run, " ")));
    run.clear();
  };
  for (int64_t position = begin; position < end; ++position) {
    const auto at = static_cast<size_t>(position);
    const bool masked = fields.loss_mask[at] == 0.0F;
    if (masked || restarts(fields, position)) flush();
    if (restarts(fields, position)) pieces.emplace_back("|");
    run.push_back(fields.tokens[at]);
    if (masked) {
      flush();
      pieces.back() = "[[" + pieces.back() + "]]";
    }
  }
  flush();
  std::string text = format("from sample {}: {}", sample, begin > 0 ? "... " : "");
  text += format("{}", fmt::join(pieces, tokenizer != nullptr ? "" : " "));
  if (end < s) text += " ...";
  return text;
}

}  // namespace trireme::data
