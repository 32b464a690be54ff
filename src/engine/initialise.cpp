#include "engine/initialise.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"

namespace trireme::engine {
namespace {

// Columns [first, first + out.size()) of a row whose element 0 is a multiple of 4.
void normal_row(const RandomStream& stream, uint64_t row_start, int64_t first, float deviation,
                std::span<float> out) {
  const auto end = first + static_cast<int64_t>(out.size());
  for (int64_t column = first / 4 * 4; column < end; column += 4) {
    const RandomBlock bits = stream.block((row_start + static_cast<uint64_t>(column)) / 4);
    const auto [a, b] = normal_pair(bits[0], bits[1]);
    const auto [c, d] = normal_pair(bits[2], bits[3]);
    const std::array<float, 4> normals = {a, b, c, d};
    for (int64_t lane = 0; lane < 4; ++lane) {
      const int64_t at = column + lane;
      if (at >= first && at < end)
        out[static_cast<size_t>(at - first)] = normals[static_cast<size_t>(lane)] * deviation;
    }
  }
}

}  // namespace

void initial_values(const parallel::Tensor& tensor, const parallel::Slice& slice, uint32_t seed,
                    ThreadPool& pool, std::span<float> out) {
  TRIREME_ASSERT(static_cast<int64_t>(out.size()) == slice.extent.elements(),
                 "a value for each element of the slice");
  if (tensor.init.kind != parallel::Init::Kind::normal) {
    std::fill(out.begin(), out.end(), tensor.init.kind == parallel::Init::Kind::ones ? 1.0F : 0.0F);
    return;
  }
  TRIREME_ASSERT(tensor.shape.rank() == 2, "normals are drawn for matrices");
  const RandomStream stream = {.seed = seed, .site = tensor.init.site, .layer = tensor.init.layer};
  const int64_t row_elements = random_row(tensor.shape[1]);
  const int64_t columns = slice.extent[1];
  pool.parallel_for(slice.extent[0], [&](int64_t row, int) {
    const auto global_row = static_cast<uint64_t>((slice.offset[0] + row) * row_elements);
    normal_row(stream, global_row, slice.offset[1], static_cast<float>(tensor.init.deviation),
               out.subspan(static_cast<size_t>(row * columns), static_cast<size_t>(columns)));
  });
}

}  // namespace trireme::engine
