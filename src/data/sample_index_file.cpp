#include "data/sample_index_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/mapped_file.h"

namespace trireme::data {
namespace {

constexpr std::string_view kMagic{"trireme-index\0\0\0", 16};
constexpr uint64_t kVersion = 1;
constexpr int64_t kBlock = int64_t{16} << 20;   // bytes under one checksum
constexpr int64_t kChecked = int64_t{1} << 16;  // numbers checked by one task
constexpr size_t kChecksumDigits = 16;

/// The head of the file, as it lies there. Checksums are texts, as in the manifest of a checkpoint.
struct Head {
  std::array<char, 16> magic;
  uint64_t version;
  int64_t range_begin;
  int64_t range_end;
  int64_t sequence_length;
  int64_t tokens_per_epoch;
  int64_t epochs;
  int64_t samples_before_last;
  uint64_t separate_last_epoch;
  uint64_t seed;
  std::array<char, kChecksumDigits> lengths;
  std::array<char, kChecksumDigits> arrays;
  std::array<char, kChecksumDigits> head;  // of everything above
};
static_assert(sizeof(Head) == 136 && alignof(Head) == 8);

void put(std::array<char, kChecksumDigits>& to, std::string_view digits) {
  TRIREME_ASSERT(digits.size() == to.size(), "a checksum has 16 digits");
  std::copy(digits.begin(), digits.end(), to.begin());
}

std::string text(const std::array<char, kChecksumDigits>& digits) {
  return {digits.begin(), digits.end()};
}

std::string checksum_of(const Head& head) {
  return checksum(std::as_bytes(std::span(&head, 1)).first(offsetof(Head, head)));
}

/// Checksum of the checksums of the blocks, so that many threads can make it.
std::string checksum_of_blocks(std::span<const std::byte> bytes, ThreadPool& pool) {
  const auto size = static_cast<int64_t>(bytes.size());
  std::vector<std::string> digits(static_cast<size_t>((size + kBlock - 1) / kBlock));
  pool.parallel_for(static_cast<int64_t>(digits.size()), [&](int64_t block, int) {
    const int64_t begin = block * kBlock;
    digits[static_cast<size_t>(block)] = checksum(bytes.subspan(
        static_cast<size_t>(begin), static_cast<size_t>(std::min(kBlock, size - begin))));
  });
  std::string all;
  for (const std::string& one : digits) all += one;
  return checksum(std::as_bytes(std::span(all)));
}

Head head_of(const IndexIdentity& identity, std::string_view arrays) {
  Head head = {.version = kVersion,
               .range_begin = identity.plan.range.begin,
               .range_end = identity.plan.range.end,
               .sequence_length = identity.plan.sequence_length,
               .tokens_per_epoch = identity.plan.tokens_per_epoch,
               .epochs = identity.plan.epochs.epochs,
               .samples_before_last = identity.plan.epochs.samples_before_last,
               .separate_last_epoch = identity.plan.epochs.separate_last_epoch ? 1U : 0U,
               .seed = identity.plan.seed};
  std::copy(kMagic.begin(), kMagic.end(), head.magic.begin());
  put(head.lengths, identity.lengths);
  put(head.arrays, arrays);
  put(head.head, checksum_of(head));
  return head;
}

IndexIdentity identity_of(const Head& head) {
  return {.plan = {.range = {head.range_begin, head.range_end},
                   .sequence_length = head.sequence_length,
                   .seed = static_cast<uint32_t>(head.seed),
                   .tokens_per_epoch = head.tokens_per_epoch,
                   .epochs = {.epochs = head.epochs,
                              .separate_last_epoch = head.separate_last_epoch != 0,
                              .samples_before_last = head.samples_before_last}},
          .lengths = text(head.lengths)};
}

[[noreturn]] void fail_damaged(const std::string& name, std::string what) {
  fail({.where = name,
        .what = std::move(what),
        .rule = "a sample index is whole and says what it belongs to",
        .remedy = "remove the file; it is made again from the dataset"});
}

/// How many of count numbers break a rule.
template <class Rule>
bool all_keep(int64_t count, ThreadPool& pool, Rule rule) {
  std::atomic<bool> kept = true;
  pool.parallel_for((count + kChecked - 1) / kChecked, [&](int64_t block, int) {
    const int64_t end = std::min(count, (block + 1) * kChecked);
    bool good = true;
    for (int64_t i = block * kChecked; i < end; ++i) good &= rule(i);
    if (!good) kept.store(false, std::memory_order_relaxed);
  });
  return kept;
}

void check_arrays(const SampleIndex& index, const std::string& name, ThreadPool& pool) {
  const IndexPlan& plan = index.plan();
  const std::span<const int32_t> sequences = index.sequences();
  const int64_t samples = index.samples();
  const auto in_range = [&](int64_t i) {
    const int32_t sequence = sequences[static_cast<size_t>(i)];
    return sequence >= plan.range.begin && sequence < plan.range.end;
  };
  const auto points_inside = [&](int64_t row) {
    return index.point(row).position < plan.positions();
  };
  const auto order_inside = [&](int64_t k) { return index.row(k) < samples; };
  if (!all_keep(plan.positions(), pool, in_range)) fail_damaged(name, "a sequence is out of range");
  if (!all_keep(samples + 1, pool, points_inside)) fail_damaged(name, "a sample starts nowhere");
  if (!all_keep(samples, pool, order_inside)) fail_damaged(name, "the order names no sample");
}

}  // namespace

std::string IndexIdentity::file_name() const {
  const Head head = head_of(*this, "0123456789abcdef");
  return text(head.head) + ".trireme-index";
}

IndexIdentity identity_of(const IndexPlan& plan, std::span<const int32_t> lengths) {
  return {.plan = plan, .lengths = checksum(std::as_bytes(lengths))};
}

void write_index_file(const Path& path, const IndexIdentity& identity, const SampleIndex& index,
                      ThreadPool& pool) {
  const Head head = head_of(identity, checksum_of_blocks(index.bytes(), pool));
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&head, 1)));
  file.write(index.bytes());
  file.commit();
}

StoredIndex parse_index(std::shared_ptr<const std::byte> bytes, size_t size,
                        const std::string& name, ThreadPool& pool) {
  Head head = {};
  if (size < sizeof(head)) {
    fail_damaged(name, format("has {} bytes, its head alone takes {}", size, sizeof(head)));
  }
  std::memcpy(&head, bytes.get(), sizeof(head));
  if (!std::equal(kMagic.begin(), kMagic.end(), head.magic.begin())) {
    fail_damaged(name, "does not begin as a sample index does");
  }
  if (head.version != kVersion) {
    fail_damaged(name,
                 format("has format version {}, {} is the one known", head.version, kVersion));
  }
  if (text(head.head) != checksum_of(head)) fail_damaged(name, "its head is damaged");
  const IndexIdentity identity = identity_of(head);
  if (const auto trouble = trouble_of(identity.plan)) fail_damaged(name, *trouble);
  const std::span<const std::byte> arrays(bytes.get() + sizeof(head), size - sizeof(head));
  const int64_t expected = IndexLayout(identity.plan).bytes;
  if (static_cast<int64_t>(arrays.size()) != expected) {
    fail_damaged(
        name, format("has {} bytes behind its head, its counts make {}", arrays.size(), expected));
  }
  if (text(head.arrays) != checksum_of_blocks(arrays, pool)) {
    fail_damaged(name, "its content does not have its checksum");
  }
  SampleIndex index(identity.plan, {std::move(bytes), arrays.data()});
  check_arrays(index, name, pool);
  return {identity, std::move(index)};
}

StoredIndex read_index_file(const Path& path, ThreadPool& pool) {
  const auto file = std::make_shared<const MappedFile>(path);
  const std::span<const std::byte> bytes = file->bytes();
  return parse_index({file, bytes.data()}, bytes.size(), path.string(), pool);
}

}  // namespace trireme::data
