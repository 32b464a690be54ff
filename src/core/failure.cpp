#include "core/failure.h"

#include <cstdio>
#include <new>

#include "core/error.h"

namespace trireme {
namespace {

// No formatting: there may be no memory for it.
void tell(const char* words, const char* at) {
  if (*at == '\0') {
    std::fprintf(stderr, "trireme: %s\n", words);
  } else {
    std::fprintf(stderr, "trireme: [%s] %s\n", at, words);
  }
  std::fflush(stderr);
}

}  // namespace

int tell_failure(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    tell(error.what(), "");  // has its place
    return error.exit_status();
  } catch (const std::bad_alloc&) {
    tell(
        "out of memory: an allocation was refused; use a smaller model or batch, or raise the "
        "limit (ulimit -v, control group)",
        place().c_str());
  } catch (const std::exception& error) {
    tell(error.what(), place().c_str());
  } catch (...) {
    tell("an unknown failure", place().c_str());
  }
  return 1;
}

}  // namespace trireme
