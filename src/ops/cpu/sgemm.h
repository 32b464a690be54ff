#pragma once
#include <cstdint>

namespace trireme::ops::cpu {

struct ProductSizes {
  int64_t rows = 0;     ///< of the output
  int64_t columns = 0;  ///< of the output
  int64_t terms = 0;    ///< that each output element adds up
};

/// A row-major factor of a product, as stored or transposed.
struct Factor {
  const float* data = nullptr;
  int64_t stride = 0;  ///< elements from one stored row to the next
  bool transposed = false;
};

/// c (+)= a b on the calling thread alone, c row-major with so many elements from row to row.
///
/// oneDNN's plain sgemm: it packs both operands inside each call and reaches 89 to 96% of the FMA
/// loop on the shapes of a GPT (`bench/ops_bench`). This is the place to widen when weights
/// come packed: whoever calls it hands over tiles and knows nothing of the library.
///
/// Throws Error when the library refuses, or was built for threads that cannot be kept to one.
void sgemm(const ProductSizes& sizes, const Factor& a, const Factor& b, bool accumulate, float* c,
           int64_t c_stride);

}  // namespace trireme::ops::cpu
