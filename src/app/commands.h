#pragma once
#include <vector>

#include "app/command.h"

namespace trireme::app {

/// Every subcommand, in the order of the overview. A new one is a file of its own, which defines a
/// function like these, and its line in commands.cpp.
[[nodiscard]] std::vector<Command> all_commands();

Command preprocess_command();
Command train_command();
Command evaluate_command();
Command generate_command();
Command program_command();
Command schedule_command();
Command verify_command();
Command options_command();
Command tokenizer_train_command();
Command tokenizer_encode_command();
Command tokenizer_decode_command();

}  // namespace trireme::app
