#include "app/commands.h"

namespace trireme::app {

std::vector<Command> all_commands() {
  return {
      options_command(),
  };
}

}  // namespace trireme::app
