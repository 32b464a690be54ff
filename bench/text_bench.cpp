// The tokenizer on text: training a vocabulary of 32,768 and encoding by it, by GPT-2's and by
// Llama 3's split pattern. The text is that of the files named as arguments or, without any, 64 MB
// made here. tools/tokenizer_peers.py measures others on the same files; numbers:
// docs/performance.md.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/error.h"
#include "core/file.h"
#include "core/format.h"
#include "core/log.h"
#include "text/trainer.h"

namespace trireme {
namespace {

constexpr size_t kMadeBytes = 64'000'000;
constexpr size_t kBlock = size_t{4} << 20;
constexpr size_t kEncodedBytes = 100'000'000;  // at most, of the text's beginning

double seconds_of(const std::function<void()>& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double peak_bytes() {
  rusage usage = {};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * static_cast<double>(usage.ru_maxrss) : 0;
}

/// Sentences of made-up words, whose lengths and frequencies fall as those of a language do: the
/// n-th most frequent occurs with a chance of about 1/n.
class MadeText {
 public:
  bool next(std::string& text) {
    if (made_ >= kMadeBytes) return false;
    text.clear();
    while (text.size() < kBlock) sentence(text);
    made_ += text.size();
    return true;
  }

 private:
  static constexpr double kWords = 2e6;

  struct Random {  // splitmix64: cheap to begin anew for every word
    uint64_t state;
    uint64_t operator()() {
      uint64_t z = state += 0x9E3779B97F4A7C15U;
      z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
      z = (z ^ z >> 27) * 0x94D049BB133111EBU;
      return z ^ z >> 31;
    }
  };

  size_t below(size_t bound) { return random_() % bound; }

  void word(std::string& text) {
    const double chance = static_cast<double>(random_() >> 11) * 0x1p-53;
    Random letters = {static_cast<uint64_t>(std::pow(kWords, chance))};
    static constexpr std::string_view kOnset = "bcdfghjklmnprstvwz";
    static constexpr std::string_view kVowel = "aaeeeiioou";
    for (size_t syllables = 1 + letters() % 4; syllables > 0; --syllables) {
      text += kOnset[letters() % kOnset.size()];
      text += kVowel[letters() % kVowel.size()];
      if (letters() % 3 == 0) text += "nrst"[letters() % 4];
    }
  }

  void sentence(std::string& text) {
    for (size_t words = 4 + below(16); words > 0; --words) {
      if (below(40) == 0) {
        text += format("{}", below(3000));
      } else {
        word(text);
      }
      text += words == 1 ? (below(6) == 0 ? ".\n" : ". ") : below(12) == 0 ? ", " : " ";
    }
  }

  Random random_ = {1};
  size_t made_ = 0;
};

/// The files' bytes in blocks that are cut where that changes no token.
class FileText {
 public:
  explicit FileText(std::vector<Path> files) : files_(std::move(files)) {}

  bool next(std::string& text) {
    for (;;) {
      if (!open_) {
        if (at_ == files_.size()) return false;
        open_ = std::make_unique<InputFile>(files_[at_++]);
      }
      text = std::move(rest_);
      rest_.clear();
      const size_t before = text.size();
      text.resize(before + kBlock);
      const size_t got = open_->read(std::span(text).subspan(before));
      text.resize(before + got);
      if (got == 0) {
        open_.reset();
        if (text.empty()) continue;
        return true;
      }
      const size_t cut = text::find_cut(text, text.size());
      if (cut > 0) {
        rest_ = text.substr(cut);
        text.resize(cut);
        return true;
      }
      rest_ = std::move(text);  // no place yet
    }
  }

 private:
  std::vector<Path> files_;
  size_t at_ = 0;
  std::unique_ptr<InputFile> open_;
  std::string rest_;
};

text::TextSource source_of(const std::vector<Path>& files) {
  if (files.empty())
    return [made = std::make_shared<MadeText>()](std::string& text) { return made->next(text); };
  return [read = std::make_shared<FileText>(files)](std::string& text) { return read->next(text); };
}

text::Tokenizer bench_training(const std::vector<Path>& files, std::string_view name,
                               ThreadPool& pool) {
  using Phase = text::TrainProgress::Phase;
  double counting = 0;
  uint64_t bytes = 0;
  std::optional<text::Tokenizer> tokenizer;
  const auto begin = std::chrono::steady_clock::now();
  const double seconds = seconds_of([&] {
    tokenizer = text::train({.split_pattern = std::string(text::named_pattern(name))},
                            source_of(files), pool, [&](const text::TrainProgress& progress) {
                              if (progress.phase == Phase::counting) {
                                bytes = progress.done;
                                return;
                              }
                              if (progress.done > 1) return;
                              const auto now = std::chrono::steady_clock::now() - begin;
                              counting = std::chrono::duration<double>(now).count();
                            });
  });
  say(
      format("train {}, {} threads: {} tokens from {:.1f} MB in {:.1f} s ({:.1f} s to the "
             "first merge, {:.1f} s for the others), peak memory of the process {}",
             name, pool.threads(), tokenizer->vocab_size(), static_cast<double>(bytes) / 1e6,
             seconds, counting, seconds - counting, bytes_text(peak_bytes())));
  return std::move(*tokenizer);
}

std::vector<std::string> texts_to_encode(const std::vector<Path>& files) {
  std::vector<std::string> texts;
  size_t bytes = 0;
  const text::TextSource source = source_of(files);
  for (std::string text; bytes < kEncodedBytes && source(text); text.clear()) {
    // Small, so that all cores have work to the end.
    for (std::string_view rest = text; !rest.empty();) {
      const size_t cut = rest.size() > kBlock / 16 ? text::find_cut(rest, kBlock / 16) : 0;
      texts.emplace_back(rest.substr(0, cut == 0 ? rest.size() : cut));
      rest.remove_prefix(texts.back().size());
    }
    bytes += text.size();
  }
  return texts;
}

void bench_coding(const text::Tokenizer& tokenizer, const std::vector<std::string>& texts,
                  std::string_view name, int threads) {
  ThreadPool pool(threads);
  std::vector<text::Encoder> encoders;
  for (int thread = 0; thread < threads; ++thread) encoders.emplace_back(tokenizer);
  std::vector<std::vector<int32_t>> ids(texts.size());
  const auto count = static_cast<int64_t>(texts.size());
  const double encoding = seconds_of([&] {
    pool.parallel_for(count, [&](int64_t index, int thread) {
      const auto text = static_cast<size_t>(index);
      encoders[static_cast<size_t>(thread)].encode(texts[text], ids[text]);
    });
  });
  const double decoding = seconds_of([&] {
    pool.parallel_for(count, [&](int64_t index, int /*thread*/) {
      const auto text = static_cast<size_t>(index);
      TRIREME_ASSERT(tokenizer.decode(ids[text]) == texts[text], "decoding gives the text back");
    });
  });
  size_t bytes = 0;
  size_t tokens = 0;
  for (const std::string& text : texts) bytes += text.size();
  for (const std::vector<int32_t>& of : ids) tokens += of.size();
  const double megabytes = static_cast<double>(bytes) / 1e6;
  say(
      format("encode {}, {} thread{}: {:.1f} MB in {:.2f} s = {:.1f} MB/s, {:.2f} M tokens/s, "
             "{:.2f} bytes a token; decode {:.0f} MB/s",
             name, threads, threads == 1 ? "" : "s", megabytes, encoding, megabytes / encoding,
             static_cast<double>(tokens) / encoding / 1e6,
             static_cast<double>(bytes) / static_cast<double>(tokens), megabytes / decoding));
}

void bench(const std::vector<Path>& files) {
  ThreadPool pool(usable_cores());
  // Both trainings first: the memory that the process has had is then theirs.
  std::vector<std::pair<std::string_view, text::Tokenizer>> tokenizers;
  for (const std::string_view name : {"gpt2", "llama3"})
    tokenizers.emplace_back(name, bench_training(files, name, pool));
  const std::vector<std::string> texts = texts_to_encode(files);
  for (const auto& [name, tokenizer] : tokenizers) {
    bench_coding(tokenizer, texts, name, 1);
    if (pool.threads() > 1) bench_coding(tokenizer, texts, name, pool.threads());
  }
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) {
  try {
    trireme::bench({argv + 1, argv + argc});
  } catch (const trireme::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_status();
  }
  return 0;
}
