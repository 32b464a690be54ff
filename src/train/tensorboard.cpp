#include "train/tensorboard.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

#include "core/format.h"

namespace trireme::train {
namespace {

constexpr std::array<uint32_t, 256> make_crc_table() {
  constexpr uint32_t kCastagnoli = 0x82F63B78;  // bits reversed
  std::array<uint32_t, 256> table = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ kCastagnoli : crc >> 1;
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = make_crc_table();

// A checksum of data that may itself hold checksums.
uint32_t masked(uint32_t crc) {
  return std::rotr(crc, 15) + 0xA282EAD8;
}

template <class T>
void append_little_endian(std::string& to, T value) {
  static_assert(std::endian::native == std::endian::little);
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Protobuf's wire format: a field is its number and type, then the value.
enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void append_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>((value & 0x7F) | 0x80);
  to += static_cast<char>(value);
}
void append_key(std::string& to, int field, WireType type) {
  append_varint(to, static_cast<uint64_t>(field) << 3 | type);
}
void append_bytes(std::string& to, int field, std::string_view bytes) {
  append_key(to, field, kBytes);
  append_varint(to, bytes.size());
  to += bytes;
}

// Fields of the messages Event, Summary and Summary.Value.
constexpr int kEventWallTime = 1;
constexpr int kEventStep = 2;
constexpr int kEventFileVersion = 3;
constexpr int kEventSummary = 5;
constexpr int kSummaryValue = 1;
constexpr int kValueTag = 1;
constexpr int kValueSimple = 2;

std::string event_head(double wall_time) {
  std::string event;
  append_key(event, kEventWallTime, kFixed64);
  append_little_endian(event, wall_time);
  return event;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, 256> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
}

// TensorBoard takes the files of a folder in the order of their names.
Path new_file(const Path& folder) {
  make_folder(folder);
  return folder /
         format("events.out.tfevents.{:.0f}.{}.{}.0", std::floor(now()), host_name(), ::getpid());
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes)
    crc = kCrcTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

std::string event_record(std::string_view content) {
  std::string record;
  append_little_endian(record, static_cast<uint64_t>(content.size()));
  append_little_endian(record, masked(crc32c(record)));
  record += content;
  append_little_endian(record, masked(crc32c(content)));
  return record;
}

std::string event_message(double wall_time, int64_t step, Scalars scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    append_bytes(value, kValueTag, tag);
    append_key(value, kValueSimple, kFixed32);
    append_little_endian(value, static_cast<float>(number));
    append_bytes(summary, kSummaryValue, value);
  }
  std::string event = event_head(wall_time);
  append_key(event, kEventStep, kVarint);
  append_varint(event, static_cast<uint64_t>(step));
  append_bytes(event, kEventSummary, summary);
  return event;
}

TensorBoardFile::TensorBoardFile(const Path& folder) : file_(new_file(folder)) {
  std::string event = event_head(now());
  append_bytes(event, kEventFileVersion, "brain.Event:2");
  file_.append(event_record(event));
}

void TensorBoardFile::write(int64_t step, Scalars scalars) {
  file_.append(event_record(event_message(now(), step, scalars)));
}

void TensorBoardFile::step(const StepReport& report, const RunRates& rates) {
  const double rate = report.flops / report.seconds;
  const std::array<std::pair<std::string_view, double>, 8> by_iteration = {
      {{"learning-rate", report.learning_rate},
       {"batch-size", static_cast<double>(report.global_batch)},
       {"lm loss", report.loss},
       {"grad-norm", report.gradient_norm},
       {"iteration-time", report.seconds},
       {"throughput", rate / 1e12},
       {"tokens-per-second", static_cast<double>(report.tokens) / report.seconds},
       {"mfu", rate / rates.peak_flops}}};
  const std::array<std::pair<std::string_view, double>, 4> by_samples = {
      {{"learning-rate vs samples", report.learning_rate},
       {"batch-size vs samples", static_cast<double>(report.global_batch)},
       {"lm loss vs samples", report.loss},
       {"grad-norm vs samples", report.gradient_norm}}};
  write(report.iteration, by_iteration);
  write(report.consumed_samples, by_samples);
}

void TensorBoardFile::validation(int64_t iteration, int64_t consumed_samples, double loss) {
  const double perplexity = std::exp(std::min(20.0, loss));
  const std::array<std::pair<std::string_view, double>, 2> by_iteration = {
      {{"lm loss validation", loss}, {"lm loss validation ppl", perplexity}}};
  const std::array<std::pair<std::string_view, double>, 2> by_samples = {
      {{"lm loss validation vs samples", loss}, {"lm loss validation ppl vs samples", perplexity}}};
  write(iteration, by_iteration);
  write(consumed_samples, by_samples);
}

}  // namespace trireme::train
