#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace trireme {

/// Bytes of memory that this process alone answers for: anonymous and shared pages that are there,
/// without those of files. None where the system does not tell (/proc/self/status).
[[nodiscard]] std::optional<int64_t> process_memory();

/// The same from the text of a status file of /proc.
[[nodiscard]] std::optional<int64_t> process_memory_of(std::string_view status);

/// Gives freed memory back to the system, of which the allocator keeps some tens of MiB otherwise.
/// For the end of work with large buffers.
void give_back_memory();

}  // namespace trireme
