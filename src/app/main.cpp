#include <csignal>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/program.h"

int main(int argc, char** argv) {
  // A file that may not grow is a failed write, which is told, and not the end of the program.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return trireme::app::guarded_program(trireme::app::all_commands(), arguments);
}
