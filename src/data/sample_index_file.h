#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/file.h"
#include "data/sample_index.h"

namespace trireme::data {

/// What an index in a file belongs to: the plan, and the lengths of its sequences by their
/// checksum. Nothing else has a part in an index, so datasets with equal lengths share one, and a
/// corpus that was made anew has another.
struct IndexIdentity {
  IndexPlan plan;
  std::string lengths;  ///< checksum, 16 hexadecimal digits

  /// A file name: 16 hexadecimal digits and ".trireme-index".
  [[nodiscard]] std::string file_name() const;
  bool operator==(const IndexIdentity&) const = default;
};

[[nodiscard]] IndexIdentity identity_of(const IndexPlan& plan, std::span<const int32_t> lengths);

/// Writes an index, whole or not at all; docs/formats.md, "Sample index".
void write_index_file(const Path& path, const IndexIdentity& identity, const SampleIndex& index,
                      ThreadPool& pool);

/// An index in the bytes of such a file, and what it belongs to.
struct StoredIndex {
  IndexIdentity identity;
  SampleIndex index;
};

/// Checks everything before anything is believed: header, sizes, checksums, and that every number
/// in the arrays points to where there is something. Throws with `name` and what is wrong.
///
/// bytes  kept by the index; aligned to 8
[[nodiscard]] StoredIndex parse_index(std::shared_ptr<const std::byte> bytes, size_t size,
                                      const std::string& name, ThreadPool& pool);

/// The same from a file, mapped.
[[nodiscard]] StoredIndex read_index_file(const Path& path, ThreadPool& pool);

}  // namespace trireme::data
