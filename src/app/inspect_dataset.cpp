#include "app/inspect_dataset.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/table.h"
#include "data/indexed_dataset.h"
#include "data/inspect.h"
#include "data/report.h"
#include "text/utf8.h"

namespace trireme::app {
namespace {

constexpr int64_t kTextsShown = 3;
constexpr int64_t kTokensShown = 60;

struct Inspected {
  const data::IndexedDataset& dataset;
  data::LengthStatistics lengths;
  int64_t largest_token = 0;
  std::optional<data::TokenCount> eod;  ///< where the tokenizer has one
};

// Text on one line: control characters as escapes, bytes that are no UTF-8 as \xNN.
std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const size_t length = text::utf8_length(text);
    const auto byte = static_cast<uint8_t>(text.front());
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      if (byte == '\n') {
        line += "\\n";
      } else if (byte == '\t') {
        line += "\\t";
      } else {
        line += format("\\x{:02x}", byte);
      }
      text.remove_prefix(1);
      continue;
    }
    line += text.substr(0, length);
    text.remove_prefix(length);
  }
  return line;
}

// The beginning of a sequence.
std::vector<int32_t> first_tokens(const data::IndexedDataset& dataset, int64_t sequence) {
  std::vector<int32_t> tokens(
      static_cast<size_t>(std::min(kTokensShown, dataset.length(sequence))));
  dataset.read(sequence, 0, tokens);
  return tokens;
}

int64_t texts_shown(const data::IndexedDataset& dataset) {
  return std::min(kTextsShown, dataset.sequences());
}

std::string range_text(const data::LengthStatistics::Bucket& bucket) {
  return bucket.first == bucket.last ? format("{}", bucket.first)
                                     : format("{} to {}", bucket.first, bucket.last);
}

std::string histogram(const data::LengthStatistics& lengths, int64_t sequences) {
  constexpr int kWidth = 40;
  using Align = TextTable::Align;
  TextTable table({{"tokens", Align::right}, {"sequences", Align::right}, {"", Align::left}});
  int64_t most = 1;
  for (const auto& bucket : lengths.buckets) most = std::max(most, bucket.sequences);
  bool begun = false;
  for (const auto& bucket : lengths.buckets) {
    begun = begun || bucket.sequences > 0;
    if (!begun) continue;  // no sequence is as short
    // At least a mark for what is there at all.
    const int64_t length = (bucket.sequences * kWidth + most - 1) / most;
    table.row({range_text(bucket), format("{}", bucket.sequences),
               std::string(static_cast<size_t>(length), '#')});
  }
  table.rule();
  table.row({"all", format("{}", sequences), ""});
  return table.text(2);
}

void say_text(const Inspected& of, const std::optional<text::Tokenizer>& tokenizer) {
  const data::IndexedDataset& dataset = of.dataset;
  const auto bytes = static_cast<double>(dataset.tokens() * bytes_of(dataset.token_type()));
  say(format("{}: {} documents, {} sequences, {} tokens, {} as {}", dataset.prefix().string(),
             dataset.documents(), dataset.sequences(), dataset.tokens(), bytes_text(bytes),
             name_of(dataset.token_type())));
  say(format("lengths: shortest {}, median {}, mean {:.1f}, longest {}; {} empty documents",
             of.lengths.shortest, of.lengths.median, of.lengths.mean, of.lengths.longest,
             of.lengths.empty_documents));
  say(format("largest token id {}{}", of.largest_token,
             tokenizer ? format(", vocabulary of {}", tokenizer->vocab_size()) : ""));
  if (of.eod)
    say(format("{} tokens end a document, {:.3f}%", of.eod->found, 100 * of.eod->share()));
  say(histogram(of.lengths, dataset.sequences()));
  for (int64_t sequence = 0; sequence < texts_shown(dataset); ++sequence) {
    const std::vector<int32_t> tokens = first_tokens(dataset, sequence);
    const char* more = dataset.length(sequence) > kTokensShown ? " ..." : "";
    if (tokenizer) {
      say(format("sequence {}: {}{}", sequence, one_line(tokenizer->decode(tokens)), more));
    } else {
      std::string ids;
      for (const int32_t id : tokens) ids += format(" {}", id);
      say(format("sequence {}:{}{}", sequence, ids, more));
    }
  }
  if (!tokenizer)
    say("give the tokenizer too (--tokenizer-model, or --vocab-file and --merge-file) to read the "
        "texts");
}

void say_json(const Inspected& of, const std::optional<text::Tokenizer>& tokenizer) {
  const data::IndexedDataset& dataset = of.dataset;
  nlohmann::ordered_json json = {{"format", "trireme-dataset-report"},
                                 {"version", 1},
                                 {"prefix", dataset.prefix().string()},
                                 {"token_type", name_of(dataset.token_type())},
                                 {"documents", dataset.documents()},
                                 {"empty_documents", of.lengths.empty_documents},
                                 {"sequences", dataset.sequences()},
                                 {"tokens", dataset.tokens()},
                                 {"shortest", of.lengths.shortest},
                                 {"median", of.lengths.median},
                                 {"mean", of.lengths.mean},
                                 {"longest", of.lengths.longest},
                                 {"largest_token", of.largest_token}};
  for (const auto& bucket : of.lengths.buckets) {
    json["lengths"].push_back({{"first", bucket.first},
                               {"last", bucket.last},
                               {"sequences", bucket.sequences},
                               {"tokens", bucket.tokens}});
  }
  if (tokenizer) json["vocabulary"] = tokenizer->vocab_size();
  if (of.eod) json["eod_tokens"] = of.eod->found;
  for (int64_t sequence = 0; sequence < texts_shown(dataset); ++sequence) {
    const std::vector<int32_t> tokens = first_tokens(dataset, sequence);
    nlohmann::ordered_json shown = {{"sequence", sequence}, {"first_tokens", tokens}};
    if (tokenizer) shown["text"] = one_line(tokenizer->decode(tokens));
    json["first_sequences"].push_back(shown);
  }
  say(json.dump(2));
}

}  // namespace

void inspect_dataset(const Path& prefix, const std::optional<text::Tokenizer>& tokenizer, bool json,
                     ThreadPool& pool) {
  const data::IndexedDataset dataset(prefix);
  Inspected inspected = {
      dataset, data::length_statistics(dataset), dataset.largest_token(pool), {}};
  const std::optional<int32_t> eod = tokenizer ? tokenizer->end_of_text() : std::nullopt;
  if (eod) {
    inspected.eod = data::count_token(dataset, {0, dataset.sequences()}, *eod, pool,
                                      std::max<int64_t>(dataset.tokens(), 1));
  }
  if (tokenizer && inspected.largest_token >= tokenizer->vocab_size()) {
    fail({.where = prefix.string(),
          .what = format("holds token id {}, the tokenizer has {} tokens", inspected.largest_token,
                         tokenizer->vocab_size()),
          .rule = "a dataset is read with the tokenizer that made it",
          .remedy = "give that tokenizer, or none"});
  }
  if (json) {
    say_json(inspected, tokenizer);
  } else {
    say_text(inspected, tokenizer);
  }
}

}  // namespace trireme::app
