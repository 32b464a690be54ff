#pragma once
#include <string>
#include <vector>

#include "core/error.h"

namespace trireme::config {

/// What is wrong with the options of one call. Collected, so that the user hears of all of it at
/// once and not of one more at each try.
class Troubles {
 public:
  void add(Trouble trouble) { list_.push_back(std::move(trouble)); }

  /// Calls; what comes out as a usage error is added. Whether nothing came out.
  template <class Call>
  bool keep(Call&& call) {
    try {
      call();
      return true;
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::usage) throw;
      add(error.trouble());
      return false;
    }
  }

  [[nodiscard]] bool empty() const { return list_.empty(); }

  /// Usage error when there are any: one as it is; several in one message, a line each. `command`
  /// opens the message when they are of several places.
  void tell(const std::string& command) const;

 private:
  std::vector<Trouble> list_;
};

}  // namespace trireme::config
