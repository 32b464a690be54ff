#pragma once
#include <map>
#include <string>
#include <string_view>

#include "engine/observer.h"

namespace trireme::bench {

/// Where the time goes by op kind, of devices that work at once.
class OpProfile final : public engine::Observer {
 public:
  void op(const engine::OpRecord& record) override;
  [[nodiscard]] double seconds() const;
  /// A table of the kinds, the longest first; seconds over so many turns of what `per` says.
  [[nodiscard]] std::string text(double turns, const std::string& per) const;
  void clear() { seconds_.clear(); }

 private:
  std::map<std::string_view, double> seconds_;
};

}  // namespace trireme::bench
