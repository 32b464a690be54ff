#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoint/tensor_spec.h"
#include "core/mapped_file.h"

namespace trireme::checkpoint {

/// The safetensors format (Hugging Face, public), as in docs/formats.md: 8 bytes of header length,
/// little-endian; a JSON header padded with spaces so that the data start at a multiple of 8; the
/// tensors' bytes, little-endian and row-major, without holes. Written with tensors in the order
/// given. Element types: those of kStoredDTypes.

/// The free texts of a header ("__metadata__").
using Metadata = std::map<std::string, std::string>;

/// Everything in front of the data. Tensor names must be unique UTF-8 and not "__metadata__".
[[nodiscard]] std::string safetensors_head(std::span<const TensorSpec> tensors,
                                           const Metadata& metadata);

/// Writes one file front to end: the head at once, then each tensor's bytes in order. Owns nothing:
/// where the bytes go, and what makes them durable, is the sink's. For an export:
///
///   AtomicFile file(path);
///   SafetensorsWriter writer([&](auto bytes) { file.write(bytes); }, tensors, metadata);
///   for (...) writer.write(bytes_of_tensor);
///   writer.finish();
///   file.commit();
class SafetensorsWriter {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  SafetensorsWriter(Sink sink, std::vector<TensorSpec> tensors, const Metadata& metadata);

  /// All bytes of the next tensor.
  void write(std::span<const std::byte> bytes);
  /// The tensor to write next. There must be one.
  [[nodiscard]] const TensorSpec& next_tensor() const;
  /// Ensures that all tensors were written.
  void finish() const;

  [[nodiscard]] const std::string& head_checksum() const { return head_checksum_; }
  /// Of the whole file.
  [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }

 private:
  Sink sink_;
  std::vector<TensorSpec> tensors_;
  size_t next_ = 0;
  uint64_t file_bytes_ = 0;
  std::string head_checksum_;
};

/// A safetensors file, mapped for reading. Opening checks the whole head against the file: length
/// of the header, JSON, names that stand twice, element types, shape times element size equals
/// bytes, ranges that overlap, leave holes or end elsewhere than the file. Each refusal names file
/// and tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const Path& path);

  /// In the order of their data.
  [[nodiscard]] const std::vector<TensorSpec>& tensors() const { return tensors_; }
  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  /// Index into tensors().
  [[nodiscard]] std::optional<size_t> find(const std::string& name) const;
  /// A tensor's bytes, at any alignment; valid as long as this object.
  [[nodiscard]] std::span<const std::byte> bytes(size_t tensor) const;
  /// Everything in front of the data.
  [[nodiscard]] std::span<const std::byte> head() const { return file_.bytes().first(head_bytes_); }
  [[nodiscard]] uint64_t file_bytes() const { return file_.bytes().size(); }

 private:
  MappedFile file_;
  size_t head_bytes_ = 0;
  std::vector<TensorSpec> tensors_;
  std::vector<uint64_t> ends_;  ///< of each tensor's data, counted from the end of the head
  std::unordered_map<std::string, size_t> index_;
  Metadata metadata_;
};

}  // namespace trireme::checkpoint
