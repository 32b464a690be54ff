#include <string>
#include <vector>

#include "app/commands.h"
#include "app/program.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return trireme::app::guarded_program(trireme::app::all_commands(), arguments);
}
