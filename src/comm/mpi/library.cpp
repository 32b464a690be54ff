#include "comm/mpi/library.h"

#include <string_view>
#include <system_error>

#include "comm/mpi/build_id.h"
#include "core/format.h"

namespace trireme::comm::mpi {
namespace {

constexpr const char* kFile = "trireme_mpi.so";
constexpr const char* kRemedy =
    "install an MPI (on Debian and Ubuntu: ./dev packages mpi) and build again (./dev build), or "
    "run the ranks as threads of one process, with --ranks and without a launcher";

}  // namespace

std::optional<Trouble> refusal(const Table& table, const Path& file) {
  const auto refuse = [&](std::string what) {
    return Trouble{.where = file.string(),
                   .what = std::move(what),
                   .rule = "the MPI library and the program are built together",
                   .remedy = "build both from the same sources (./dev build)"};
  };
  if (table.version != kVersion) {
    return refuse(
        format("it has version {} of the interface, the program has {}", table.version, kVersion));
  }
  if (table.bytes != sizeof(Table)) {
    return refuse(
        format("its table has {} bytes, the program's has {}", table.bytes, sizeof(Table)));
  }
  if (std::string_view(table.build_id) != build_id()) {
    return refuse(format("it is of build {}, the program of {}", table.build_id, build_id()));
  }
  return std::nullopt;
}

const Table& open_library(const Path& file) {
  std::string words;
  const SharedLibrary library(file, SharedLibrary::Use::lasting, words);
  if (!library) {
    fail({.where = file.string(), .what = "cannot be loaded: " + words, .remedy = kRemedy});
  }
  void* const entry = library.find(kEntryName, words);
  if (entry == nullptr) {
    fail({.where = file.string(),
          .what = "is not what opens MPI for this program: " + words,
          .rule = format("that has a function {}", kEntryName),
          .remedy = kRemedy});
  }
  const Table& table = *reinterpret_cast<Entry>(entry)();
  if (const auto trouble = refusal(table, file)) fail(*trouble);
  return table;
}

const Table& open_library() {
  std::string tried;
  for (const Path& folder : library_folders()) {
    const Path file = folder / kFile;
    std::error_code error;  // what cannot be looked at is not there
    if (std::filesystem::exists(file, error)) return open_library(file);
    tried += (tried.empty() ? "" : ", ") + file.string();
  }
  fail_usage({.where = "MPI",
              .what = format("there is no {}", tried),
              .rule = "ranks that a launcher (mpirun, srun) starts exchange data by MPI, which the "
                      "program opens on demand",
              .remedy = kRemedy});
}

}  // namespace trireme::comm::mpi
