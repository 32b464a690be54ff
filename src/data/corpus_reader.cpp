#include "data/corpus_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "text/tokenizer.h"

namespace trireme::data {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;
constexpr size_t kCutBytes = size_t{256} << 10;  // longer texts are cut into parts of about this
constexpr size_t kLongestCharacter = 4;          // bytes of UTF-8

std::string lower_extension(const Path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

bool is_one_of(const std::string& extension, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), extension) != names.end();
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

bool is_folder(const Path& path) {
  std::error_code error;  // what cannot be examined is told when it is opened
  return std::filesystem::is_directory(path, error);
}

/// Files of a folder and the folders below it, in the order of their paths. A link back to a folder
/// above is passed over, and so is what is no file (sockets, pipes). above: canonical paths.
void add_folder(const Path& folder, std::vector<Path>& above, std::vector<Path>& files) {
  std::vector<Path> entries;
  std::error_code error;
  const Path canonical = std::filesystem::canonical(folder, error);
  if (!error && std::find(above.begin(), above.end(), canonical) != above.end()) return;
  above.push_back(canonical);
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    entries.push_back(at->path());
  }
  if (error) {
    fail({.where = folder.string(), .what = format("cannot list: {}", error.message())});
  }
  std::sort(entries.begin(), entries.end());
  for (const Path& entry : entries) {
    if (entry.filename().string().front() == '.') continue;
    if (is_folder(entry)) {
      add_folder(entry, above, files);
    } else if (const auto kind = std::filesystem::status(entry, error).type();
               kind != std::filesystem::file_type::socket &&
               kind != std::filesystem::file_type::fifo) {
      files.push_back(entry);
    }
  }
  above.pop_back();
}

}  // namespace

CorpusReader::CorpusReader(CorpusOptions options) : options_(std::move(options)) {
  for (const Path& input : options_.inputs) {
    const size_t before = files_.size();
    if (is_folder(input)) {
      std::vector<Path> above;
      add_folder(input, above, files_);
      if (files_.size() == before) {
        fail({.where = input.string(), .what = "the folder holds no files"});
      }
    } else {
      files_.push_back(input);
    }
  }
  bool sizes_known = true;
  for (const Path& path : files_) {
    if (is_one_of(lower_extension(path), {".xz", ".bz2", ".zip", ".7z", ".lz4"})) {
      fail({.where = path.string(),
            .what = "is compressed in a way that is not read",
            .rule = "text and JSONL are read as they are, from .gz and from .zst",
            .remedy = "decompress it first, or compress it with gzip or zstd"});
    }
    // Opened once before the work begins, so that a missing file is told now and not in an hour.
    // A pipe is opened but once.
    std::error_code error;
    const bool pipe = std::filesystem::is_fifo(path, error);
    sizes_known = sizes_known && !pipe;
    if (!pipe) total_bytes_ += InputFile(path).size();
  }
  if (!sizes_known) total_bytes_ = 0;
}

CorpusReader::~CorpusReader() = default;

bool CorpusReader::is_json(size_t file) const {
  if (options_.format != CorpusFormat::automatic) return options_.format == CorpusFormat::jsonl;
  return is_one_of(lower_extension(name_inside(files_[file])), {".jsonl", ".ndjson", ".json"});
}

bool CorpusReader::next(CorpusBatch& batch, size_t target_bytes) {
  batch.pieces.clear();
  batch.buffer.clear();
  std::swap(batch.buffer, rest_);
  searched_ -= std::exchange(start_, 0);
  // What is taken lies before start_; the rest waits for more of its file.
  while (start_ < target_bytes || batch.pieces.empty()) {
    if (open_ == nullptr) {
      if (file_ == files_.size()) break;
      open_next_file(batch.buffer.size());
    }
    const size_t before = batch.buffer.size();
    batch.buffer.resize(before + kReadBytes);
    const size_t got = open_->read(std::span(batch.buffer).subspan(before));
    batch.buffer.resize(before + got);
    text_bytes_ += got;
    if (got == 0) {
      finish_file(batch);
    } else {
      cut_records(batch);
      cut_long_text(batch);
    }
  }
  rest_.assign(batch.buffer, start_);
  batch.buffer.resize(start_);
  batch.buffer.append(kCorpusPadding, '\0');
  return !batch.pieces.empty();
}

void CorpusReader::open_next_file(size_t at) {
  open_ = std::make_unique<TextFile>(files_[file_]);
  json_ = is_json(file_);
  delimiter_ = json_ ? "\n" : options_.split_documents_on;
  line_ = 1;
  document_open_ = false;
  start_ = searched_ = at;
  cut_at_ = kCutBytes;
}

void CorpusReader::cut_records(CorpusBatch& batch) {
  if (delimiter_.empty()) return;
  const std::string& buffer = batch.buffer;
  for (size_t found = 0; (found = buffer.find(delimiter_, searched_)) != std::string::npos;) {
    take(batch, found - start_, true);
    start_ = searched_ = found + delimiter_.size();
  }
  // The delimiter may have begun at the end of what is here.
  searched_ = std::max(start_, buffer.size() - std::min(buffer.size(), delimiter_.size() - 1));
}

void CorpusReader::cut_long_text(CorpusBatch& batch) {
  const size_t size = batch.buffer.size() - start_;
  if (json_ || !options_.cuts_at_lines || size < cut_at_) return;
  // A cut looks at the character behind it, and must not part a delimiter.
  const size_t margin = std::max(kLongestCharacter, delimiter_.size());
  if (size <= margin) return;
  const size_t cut = text::find_cut(std::string_view(batch.buffer).substr(start_), size - margin);
  if (cut > 0) {
    take(batch, cut, false);
    start_ += cut;
    searched_ = std::max(searched_, start_);
  }
  // Doubled where there is no place to cut, so that the search costs O(n) for any text.
  cut_at_ = cut > 0 ? kCutBytes : 2 * size;
}

void CorpusReader::finish_file(CorpusBatch& batch) {
  const size_t size = batch.buffer.size() - start_;
  const bool empty_file_is_a_document = delimiter_.empty();
  if (size > 0 || document_open_ || empty_file_is_a_document) take(batch, size, true);
  start_ = searched_ = batch.buffer.size();
  bytes_of_whole_files_ += open_->file_bytes_read();
  open_.reset();
  ++file_;
}

void CorpusReader::take(CorpusBatch& batch, size_t size, bool ends_document) {
  CorpusPiece piece = {.begin = start_, .size = size, .file = file_, .is_json = json_};
  if (json_) {
    piece.line = line_++;
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (piece.line == 1 && batch.text(piece).substr(0, 3) == kByteOrderMark) {
      piece.begin += kByteOrderMark.size();
      piece.size -= kByteOrderMark.size();
    }
    if (!is_blank(batch.text(piece))) batch.pieces.push_back(piece);
    return;
  }
  piece.ends_document = ends_document;
  piece.document_is_empty = ends_document && size == 0 && !document_open_;
  document_open_ = !ends_document;
  if (piece.document_is_empty && !delimiter_.empty()) return;
  batch.pieces.push_back(piece);
}

}  // namespace trireme::data
