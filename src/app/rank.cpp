#include "app/rank.h"

#include "core/error.h"
#include "core/format.h"

namespace trireme::app {
namespace {

int threads_of(const config::EngineOptions& options) {
  if (options.ranks != 1) {
    fail_usage({.where = "--ranks",
                .what = format("{} ranks", options.ranks),
                .rule = "this version runs one rank",
                .remedy = "leave the option out"});
  }
  return options.threads_per_rank > 0 ? static_cast<int>(options.threads_per_rank) : usable_cores();
}

}  // namespace

LocalRank::LocalRank(const config::EngineOptions& options) : cpu(threads_of(options)) {}

std::optional<text::Tokenizer> load_tokenizer(const config::TokenizerOptions& options) {
  if (!options.vocab_file) return std::nullopt;
  return text::Tokenizer::load(*options.vocab_file, *options.merge_file);
}

}  // namespace trireme::app
