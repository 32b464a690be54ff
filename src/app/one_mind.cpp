#include "app/one_mind.h"

namespace trireme::app {

void require_one_mind(LocalRank& rank, std::string_view subcommand,
                      std::span<const config::GroupView> options, const train::Subject& named) {
  if (rank.world().size() == 1) return;
  for (const train::Subject& subject :
       {train::build_subject(), train::options_subject(subcommand, options), named})
    train::require_same(rank.world(), rank.host_stream(), subject);
}

}  // namespace trireme::app
