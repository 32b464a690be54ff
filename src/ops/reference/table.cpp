#include "ops/reference/reference.h"

namespace trireme::ops {
namespace {

template <std::floating_point T>
KernelTable make_table() {
  KernelTable table;
  reference::add_embedding<T>(table);
  reference::add_layer_norm<T>(table);
  reference::add_product<T>(table);
  reference::add_elementwise<T>(table);
  reference::add_attention<T>(table);
  reference::add_stored_attention<T>(table);
  reference::add_cross_entropy<T>(table);
  reference::add_optimizer<T>(table);
  return table;
}

}  // namespace

const KernelTable& reference_kernels() {
  static const KernelTable table = make_table<float>();
  return table;
}

const KernelTable& reference::reference_kernels_in_double() {
  static const KernelTable table = make_table<double>();
  return table;
}

}  // namespace trireme::ops
