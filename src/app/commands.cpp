#include "app/commands.h"

namespace trireme::app {

std::vector<Command> all_commands() {
  return {
      preprocess_command(),
      train_command(),
      generate_command(),
      program_command(),
      options_command(),
  };
}

}  // namespace trireme::app
