#include "ops/cpu/cpu.h"

namespace trireme::ops {
namespace {

KernelTable make_table() {
  KernelTable table;
  cpu::add_embedding(table);
  cpu::add_layer_norm(table);
  cpu::add_product(table);
  cpu::add_bias_gradient(table);
  cpu::add_elementwise(table);
  cpu::add_attention(table);
  cpu::add_attention_backward(table);
  cpu::add_attention_decode(table);
  cpu::add_stored_attention(table);
  cpu::add_softmax(table);
  cpu::add_cross_entropy(table);
  cpu::add_optimizer(table);
  return table;
}

}  // namespace

const KernelTable& cpu_kernels() {
  static const KernelTable table = make_table();
  return table;
}

}  // namespace trireme::ops
