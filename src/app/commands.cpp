#include "app/commands.h"

namespace trireme::app {

std::vector<Command> all_commands() {
  return {
      tokenizer_train_command(),
      tokenizer_encode_command(),
      tokenizer_decode_command(),
      preprocess_command(),
      train_command(),
      evaluate_command(),
      generate_command(),
      program_command(),
      schedule_command(),
      verify_command(),
      options_command(),
  };
}

std::optional<config::Elsewhere> who_takes(std::string_view name) {
  config::Elsewhere found;
  for (const Command& command : all_commands()) {
    for (const config::Group* group : command.options().groups) {
      const config::Field* field = group->find(name);
      if (field == nullptr) continue;
      found.field = field;
      found.commands.push_back("trireme " + command.text.name);
    }
  }
  if (found.field == nullptr) return std::nullopt;
  return found;
}

}  // namespace trireme::app
