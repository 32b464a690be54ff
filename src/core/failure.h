#pragma once
#include <exception>

namespace trireme {

/// One message on standard error, with the rank's place; returns the exit status: usage 2, all
/// other 1.
[[nodiscard]] int tell_failure(const std::exception_ptr& failure) noexcept;

}  // namespace trireme
