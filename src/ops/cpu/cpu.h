#pragma once
#include "ops/kernel.h"

namespace trireme::ops::cpu {

// The CPU backend: for every op kind but the collectives a kernel on the stream's thread pool. The
// contracts are the docstrings under program/op/; each file here has the kinds of the file of the
// same name there.
//
// - Sums have a fixed order, which depends on sizes alone; a cut may follow the number of threads
//   only where it cuts no sum. So threads and the place of a buffer in memory never change bits.
//   They may change with the kind of vector unit.
// - Vector code is Highway's, compiled for each kind of unit and chosen at run time (targets.h).
// - Nothing is allocated; scratch memory is the caller's workspace.

void add_attention(KernelTable& table);
void add_attention_backward(KernelTable& table);
void add_attention_decode(KernelTable& table);
void add_bias_gradient(KernelTable& table);
void add_cross_entropy(KernelTable& table);
void add_elementwise(KernelTable& table);
void add_embedding(KernelTable& table);
void add_layer_norm(KernelTable& table);
void add_optimizer(KernelTable& table);
void add_product(KernelTable& table);
void add_softmax(KernelTable& table);
void add_stored_attention(KernelTable& table);

}  // namespace trireme::ops::cpu
