#include <cmath>
#include <numeric>
#include <sstream>

#include "core/fuzz.h"
#include "data/blend.h"
#include "data/split.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trireme;
  using namespace trireme::data;
  const std::string text(fuzz::text_of(data, size));
  std::istringstream words(text);
  std::vector<std::string> items;
  for (std::string item; words >> item;) items.push_back(item);
  Blend blend;
  if (fuzz::accepted([&] { blend = parse_blend(items, "--data-path"); })) {
    fuzz::require(!blend.prefixes.empty(), "a blend has datasets");
    if (blend.weighted()) {
      const std::vector<double> shares = normalised_weights(blend.weights);
      const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
      fuzz::require(shares.size() == blend.prefixes.size() && std::abs(sum - 1) < 1e-9,
                    "shares add up to 1");
      const BlendIndex index = BlendIndex::by_weights(shares, 100);
      for (int64_t k = 0; k < 100; ++k)
        fuzz::require(index[k].dataset < static_cast<int64_t>(shares.size()), "a dataset of it");
    }
  }
  fuzz::accepted([&] {
    const auto ranges = split_ranges(text, 1000);
    fuzz::require(ranges[0].begin == 0 && ranges[0].end == ranges[1].begin &&
                      ranges[1].end == ranges[2].begin && ranges[2].end == 1000,
                  "parts cover the sequences");
  });
  return 0;
}
