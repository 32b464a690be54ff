#pragma once
#include <initializer_list>

#include "config/megatron/script.h"

// The chapters, and the words in which they are written. For the files of this folder only.

namespace trireme::config::megatron {

[[nodiscard]] Section model_section();
[[nodiscard]] Section positions_section();
[[nodiscard]] Section batch_section();
[[nodiscard]] Section optimizer_section();
[[nodiscard]] Section precision_section();
[[nodiscard]] Section kernels_section();
[[nodiscard]] Section parallel_section();
[[nodiscard]] Section reduction_section();
[[nodiscard]] Section memory_section();
[[nodiscard]] Section data_section();
[[nodiscard]] Section tokenizer_section();
[[nodiscard]] Section checkpoint_section();
[[nodiscard]] Section logging_section();
[[nodiscard]] Section experts_section();
[[nodiscard]] Section launch_section();
[[nodiscard]] Section other_section();

inline constexpr const char* kLeaveOut = "leave it out";
inline constexpr const char* kLeaveOutSame = "leave it out, which changes no result";

using List = std::initializer_list<const char*>;

/// Fields of ours.
void same(Section& section, List names);
/// Flags that ask for what is so in any case.
void always(Section& section, List names, const char* note);
/// The same with a value of which each is fine.
void always_any(Section& section, List names, const char* note);
/// The same at these values only. Any other is refused, with `instead`, or with these to choose
/// from.
void always_at(Section& section, const char* name, List values, const char* note,
               const char* instead = "");
void refused(Section& section, Takes takes, List names, const char* note, const char* instead);

}  // namespace trireme::config::megatron
