#pragma once
// What the tests of this room share: a folder of their own and datasets written by a second writer.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "data/indexed_format.h"

namespace trireme::data {

/// A test with a folder that goes away after it.
class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    std::string pattern = testing::TempDir() + "trireme-data-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~FolderTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
      found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }

  Path folder_;
};

/// The message of the Error that an action ends with; empty when it does not.
template <class F>
std::string error_of(F&& action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// documents[d][q] = tokens of sequence q of document d.
using Documents = std::vector<std::vector<std::vector<int64_t>>>;

/// Independent of IndexedWriter: follows the table of indexed_format.h with plain appends.
struct PlainFiles {
  std::string idx;
  std::string bin;
};

template <class T>
void append_number(std::string& file, T value) {
  for (size_t byte = 0; byte < sizeof(T); ++byte)
    file += static_cast<char>(static_cast<uint64_t>(value) >> (8 * byte) & 0xff);
}

inline PlainFiles plain_files(const Documents& documents, int code, int item_bytes) {
  PlainFiles files;
  std::string lengths;
  std::string offsets;
  std::string bounds;
  uint64_t sequences = 0;
  append_number(bounds, uint64_t{0});
  for (const auto& document : documents) {
    for (const auto& sequence : document) {
      append_number(lengths, static_cast<int32_t>(sequence.size()));
      append_number(offsets, static_cast<int64_t>(files.bin.size()));
      for (const int64_t token : sequence) {
        std::string number;
        append_number(number, token);
        files.bin += number.substr(0, static_cast<size_t>(item_bytes));
      }
      ++sequences;
    }
    append_number(bounds, sequences);
  }
  files.idx = std::string("MMIDIDX\0\0", 9);
  append_number(files.idx, uint64_t{1});
  files.idx += static_cast<char>(code);
  append_number(files.idx, sequences);
  append_number(files.idx, uint64_t{documents.size() + 1});
  files.idx += lengths + offsets + bounds;
  return files;
}

/// Without the sync of write_file, and to a new file each time (ext4 syncs one that was truncated):
/// tests write thousands of files.
inline void write_quickly(const Path& path, const std::string& content) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
}

inline void write_files(const Path& prefix, const PlainFiles& files) {
  write_quickly(index_path(prefix), files.idx);
  write_quickly(tokens_path(prefix), files.bin);
}

/// One sequence per document with the given lengths; token t of the whole stream is first + t.
inline Documents counting_documents(const std::vector<int64_t>& lengths, int64_t first = 0) {
  Documents documents;
  for (const int64_t length : lengths) {
    std::vector<int64_t> sequence;
    for (int64_t i = 0; i < length; ++i) sequence.push_back(first++);
    documents.push_back({sequence});
  }
  return documents;
}

}  // namespace trireme::data
