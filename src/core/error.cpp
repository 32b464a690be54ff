#include "core/error.h"

#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "core/format.h"

namespace trireme {
namespace {

thread_local std::string this_place;

std::string message(const Trouble& trouble) {
  return (this_place.empty() ? "" : format("[{}] ", this_place)) + text_of(trouble);
}

}  // namespace

std::string text_of(const Trouble& trouble) {
  std::string text = trouble.where;
  const char* separator = trouble.where.empty() ? "" : ": ";
  for (const std::string* part : {&trouble.what, &trouble.rule, &trouble.remedy}) {
    if (part->empty()) continue;
    text += separator;
    text += *part;
    separator = "; ";
  }
  return text;
}

Error::Error(Kind kind, const Trouble& trouble)
    : std::runtime_error(message(trouble)), kind_(kind), trouble_(trouble) {}

void fail(const Trouble& trouble) {
  throw Error(Error::Kind::run, trouble);
}
void fail_usage(const Trouble& trouble) {
  throw Error(Error::Kind::usage, trouble);
}

void set_place(std::string place) {
  this_place = std::move(place);
}
const std::string& place() {
  return this_place;
}

std::string errno_text(int error_number) {
  return std::error_code(error_number, std::generic_category()).message();
}

void broken_invariant(const char* expression, const char* file, int line, std::string_view words) {
  fmt::print(stderr, "trireme: broken invariant at {}:{}: {} ({})\n", file, line, words,
             expression);
  std::abort();
}

}  // namespace trireme
