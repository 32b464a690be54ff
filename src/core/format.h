#pragma once
// The one door to text formatting: <format> needs GCC 13, so {fmt} stands in for it.

#include <fmt/core.h>
#include <fmt/format.h>

namespace trireme {
using fmt::format;
}
