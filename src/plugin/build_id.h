#pragma once

namespace trireme::plugin {

/// Names this build of what the program and a plugin have in common: the sources of the rooms up to
/// here, compiler and flags. Equal on both sides, a program::OpSpec has one layout and one meaning.
[[nodiscard]] const char* build_id();

}  // namespace trireme::plugin
