#pragma once
#include <span>
#include <string>

#include "comm/communicator.h"
#include "config/group.h"
#include "train/run_data.h"

// What all ranks of a run have to have in common, and is found at start where they have not: ranks
// of different hosts may be started with other options, other data, another build.

namespace trireme::train {

/// A subject on which all ranks are of one mind.
struct Subject {
  std::string name;    ///< "options"
  std::string lines;   ///< "name = value" each, in the same order everywhere
  std::string remedy;  ///< where they differ
};

/// Throws on every rank, with the same words, unless all say the same: names the first line that
/// differs, its values, and the ranks that have them. A collective over the world; when all is well
/// 24 bytes of each rank go around.
void require_same(comm::Communicator& world, device::Stream& stream, const Subject& subject);

/// The program itself, by version and the content of its file.
[[nodiscard]] Subject build_subject();
/// The subcommand with its effective options, whether or not they are saved with a run: each of
/// them may decide what the ranks exchange. Of files that all ranks read, their content.
[[nodiscard]] Subject options_subject(std::string_view subcommand,
                                      std::span<const config::GroupView> groups);
/// The data of a run: sizes of all datasets, and the content of a few samples of each part, which
/// depends on the datasets' tokens and on the order of samples.
[[nodiscard]] Subject data_subject(const RunData& data);
/// The lines of one part of them.
[[nodiscard]] std::string data_lines(data::Part part, const data::OpenPart& opened);

}  // namespace trireme::train
