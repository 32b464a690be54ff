#pragma once
#include <exception>
#include <span>
#include <string>

#include "app/command.h"

namespace trireme::app {

/// The whole program behind main(): picks the subcommand and runs it.
///
///   (nothing), --help, -h, help    overview of the subcommands, to standard output
///   help NAME, NAME --help         a subcommand's help
///   --version                      name and version
///   NAME ...                       the subcommand; names of two words are one name
///
/// Returns the exit status. Throws Error (usage: no such subcommand, with the nearest one).
[[nodiscard]] int run_program(std::span<const Command> commands,
                              std::span<const std::string> arguments);

/// One message on standard error; returns the exit status: usage 2, all other 1.
[[nodiscard]] int tell_failure(const std::exception_ptr& failure) noexcept;

/// run_program() with tell_failure() for every failure. Standard output that could not be written
/// is a failure too.
[[nodiscard]] int guarded_program(std::span<const Command> commands,
                                  std::span<const std::string> arguments) noexcept;

}  // namespace trireme::app
