#include "app/commands.h"

namespace trireme::app {

std::vector<Command> all_commands() {
  return {
      tokenizer_train_command(),
      tokenizer_encode_command(),
      tokenizer_decode_command(),
      preprocess_command(),
      train_command(),
      generate_command(),
      program_command(),
      options_command(),
  };
}

}  // namespace trireme::app
