#include "comm/gather_text.h"

#include <cstring>

#include "core/error.h"

namespace trireme::comm {
namespace {

// Gathers slices [cuts[r], cuts[r + 1]) of a buffer of the caller's.
void gather(Communicator& group, device::Stream& stream, std::byte* buffer,
            const std::vector<int64_t>& cuts) {
  try {
    group.wait(group.start_all_gather(stream, buffer, cuts.back(), Traffic::agreement, cuts),
               stream);
  } catch (...) {
    group.withdraw();  // from a buffer that goes with the caller
    throw;
  }
}

}  // namespace

std::vector<std::string> gather_texts(Communicator& group, device::Stream& stream,
                                      std::string_view text) {
  const auto ranks = static_cast<size_t>(group.size());
  const auto own = static_cast<size_t>(group.rank());
  std::vector<int64_t> lengths(ranks);
  std::vector<int64_t> cuts(ranks + 1);
  for (size_t r = 0; r <= ranks; ++r) cuts[r] = static_cast<int64_t>(r * sizeof(int64_t));
  lengths[own] = static_cast<int64_t>(text.size());
  gather(group, stream, reinterpret_cast<std::byte*>(lengths.data()), cuts);

  for (size_t r = 0; r < ranks; ++r) {
    TRIREME_ASSERT(lengths[r] >= 0, "a text has a length");
    cuts[r + 1] = cuts[r] + lengths[r];
  }
  std::vector<std::byte> bytes(static_cast<size_t>(cuts.back()));
  if (!text.empty()) std::memcpy(bytes.data() + cuts[own], text.data(), text.size());
  gather(group, stream, bytes.data(), cuts);

  std::vector<std::string> texts;
  for (size_t r = 0; r < ranks; ++r) {
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()) + cuts[r],
                       static_cast<size_t>(lengths[r]));
  }
  return texts;
}

}  // namespace trireme::comm
