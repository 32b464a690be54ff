#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>
#include <set>
#include <utility>

#include "checkpoint/strict_json.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "our files are little-endian");

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMostHeaderBytes = 100'000'000;  // the public format's own bound
constexpr const char* kMetadata = "__metadata__";

/// The format's names are ours in capitals: "F32", "BF16", "I64".
std::string public_name(DType dtype) {
  std::string name(name_of(dtype));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

DType dtype_in(const Json& entry, const std::string& where) {
  const std::string name = text_of(entry, "dtype", where);
  std::string known;
  for (const DType dtype : kStoredDTypes) {
    if (public_name(dtype) == name) return dtype;
    known += (known.empty() ? "" : ", ") + public_name(dtype);
  }
  fail_damaged(where, format("element type {}", Json(name).dump()), "this program reads " + known);
}

struct Located {
  TensorSpec tensor;
  uint64_t begin = 0;
  uint64_t end = 0;
};

Located located(const std::string& name, const Json& entry, const std::string& where) {
  require_members(entry, {"dtype", "shape", "data_offsets"}, where);
  Located tensor = {.tensor = {.name = name,
                               .dtype = dtype_in(entry, where),
                               .shape = shape_of(entry, "shape", where)}};
  const std::vector<int64_t> offsets = naturals(entry, "data_offsets", where);
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    fail_damaged(where, "\"data_offsets\" is not [begin, end]");
  tensor.begin = static_cast<uint64_t>(offsets[0]);
  tensor.end = static_cast<uint64_t>(offsets[1]);
  const auto bytes = stored_bytes(tensor.tensor.dtype, tensor.tensor.shape);
  if (!bytes) fail_damaged(where, format("impossible shape {}", tensor.tensor.shape.text()));
  if (tensor.end - tensor.begin != *bytes) {
    fail_damaged(where, format("{} needs {} bytes, but its data have {}", tensor.tensor.text(),
                               *bytes, tensor.end - tensor.begin));
  }
  return tensor;
}

/// The tensors' data lie one behind the other and end with the file.
void require_no_holes(const std::vector<Located>& tensors, uint64_t data_bytes,
                      const std::string& file) {
  uint64_t end = 0;
  for (const Located& tensor : tensors) {
    const std::string where = format("{}: tensor {}", file, tensor.tensor.name);
    if (tensor.end > data_bytes) {
      fail_damaged(
          where, format("its data end at byte {}, the file's data at {}", tensor.end, data_bytes));
    }
    if (tensor.begin != end) {
      fail_damaged(
          where, format("its data {} the ones before it (begin {}, expected {})",
                        tensor.begin < end ? "overlap" : "leave a hole behind", tensor.begin, end));
    }
    end = tensor.end;
  }
  if (end != data_bytes) {
    fail_damaged(file, format("{} bytes of data, but its tensors end at byte {}", data_bytes, end));
  }
}

}  // namespace

std::string safetensors_head(std::span<const TensorSpec> tensors, const Metadata& metadata) {
  // Not one JSON object: that would sort the tensors by name, and a reader of the file expects
  // them in the order of their data.
  std::string header = "{";
  const auto add = [&](const std::string& name, const Json& value) {
    if (header.size() > 1) header += ",";
    header += Json(name).dump() + ":" + value.dump();
  };
  std::set<std::string> names = {kMetadata};
  if (!metadata.empty()) add(kMetadata, metadata);
  uint64_t end = 0;
  for (const TensorSpec& tensor : tensors) {
    const auto bytes = stored_bytes(tensor.dtype, tensor.shape);
    TRIREME_ASSERT(bytes, "a tensor to write has a possible shape");
    TRIREME_ASSERT(names.insert(tensor.name).second, "tensor names in a file are unique");
    const uint64_t begin = std::exchange(end, end + *bytes);
    add(tensor.name, {{"dtype", public_name(tensor.dtype)},
                      {"shape", json_of(tensor.shape)},
                      {"data_offsets", {begin, end}}});
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t length = header.size();
  if (length > kMostHeaderBytes) {
    fail({.where = "safetensors",
          .what = format("a header of {} bytes for {} tensors", length, tensors.size()),
          .rule = format("the format allows {}", kMostHeaderBytes),
          .remedy = "write the tensors to several files"});
  }
  std::array<char, kLengthBytes> length_bytes = {};
  std::memcpy(length_bytes.data(), &length, kLengthBytes);
  return std::string(length_bytes.data(), kLengthBytes) + header;
}

SafetensorsWriter::SafetensorsWriter(Sink sink, std::vector<TensorSpec> tensors,
                                     const Metadata& metadata)
    : sink_(std::move(sink)), tensors_(std::move(tensors)) {
  const std::string head = safetensors_head(tensors_, metadata);
  const auto bytes = std::as_bytes(std::span(head));
  file_bytes_ = bytes.size();
  for (const TensorSpec& tensor : tensors_)
    file_bytes_ += *stored_bytes(tensor.dtype, tensor.shape);
  head_checksum_ = checksum(bytes);
  sink_(bytes);
}

const TensorSpec& SafetensorsWriter::next_tensor() const {
  TRIREME_ASSERT(next_ < tensors_.size(), "no more tensors than were announced");
  return tensors_[next_];
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  const TensorSpec& tensor = next_tensor();
  TRIREME_ASSERT(bytes.size() == *stored_bytes(tensor.dtype, tensor.shape),
                 "a tensor is written whole");
  sink_(bytes);
  ++next_;
}

void SafetensorsWriter::finish() const {
  TRIREME_ASSERT(next_ == tensors_.size(), "every announced tensor is written");
}

SafetensorsFile::SafetensorsFile(const Path& path) : file_(path) {
  const std::string where = path.string();
  const std::span<const std::byte> bytes = file_.bytes();
  if (bytes.size() < kLengthBytes)
    fail_damaged(where, format("{} bytes are too few for a safetensors file", bytes.size()));
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMostHeaderBytes || length > bytes.size() - kLengthBytes) {
    fail_damaged(
        where, format("a header of {} bytes in a file of {}", length, bytes.size()),
        format("a safetensors header lies in the file and has at most {} bytes", kMostHeaderBytes));
  }
  head_bytes_ = kLengthBytes + length;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  if (text.empty() || text.front() != '{')
    fail_damaged(where, "the header does not begin with {", "safetensors headers do");
  const Json header = parse_strict(text, where + ": header");

  std::vector<Located> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name != kMetadata) {
      tensors.push_back(located(name, entry, format("{}: tensor {}", where, name)));
      continue;
    }
    if (!entry.is_object()) fail_damaged(where, "\"__metadata__\" is not a JSON object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) fail_damaged(where, "\"__metadata__\" holds more than texts");
      metadata_[key] = value.get<std::string>();
    }
  }
  std::sort(tensors.begin(), tensors.end(), [](const Located& a, const Located& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  require_no_holes(tensors, bytes.size() - head_bytes_, where);
  for (Located& tensor : tensors) {
    index_[tensor.tensor.name] = tensors_.size();
    tensors_.push_back(std::move(tensor.tensor));
    ends_.push_back(tensor.end);
  }
}

std::optional<size_t> SafetensorsFile::find(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

std::span<const std::byte> SafetensorsFile::bytes(size_t tensor) const {
  TRIREME_ASSERT(tensor < ends_.size(), "a tensor of this file");
  const uint64_t begin = tensor == 0 ? 0 : ends_[tensor - 1];
  return file_.bytes().subspan(head_bytes_ + begin, ends_[tensor] - begin);
}

}  // namespace trireme::checkpoint
