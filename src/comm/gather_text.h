#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"

namespace trireme::comm {

/// What every member of a group says, by its rank in the group: any bytes, of any length, empty
/// ones too. A collective: all members call it, and have all texts behind it. For starts, saves and
/// reports, not for steps: it allocates, and waits. The group's buffers are host memory.
///
/// Who uses it: ranks that must be of one mind (train/agreement.h), a save that is whole when every
/// part is there, reports of all ranks. Traffic::agreement; n - 1 times the length, and 8 bytes
/// more, to send.
[[nodiscard]] std::vector<std::string> gather_texts(Communicator& group, device::Stream& stream,
                                                    std::string_view text);

}  // namespace trireme::comm
