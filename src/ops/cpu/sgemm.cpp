#include "ops/cpu/sgemm.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include "core/error.h"
#include "core/format.h"

namespace trireme::ops::cpu {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& remedy) {
  fail({.where = "matrix product", .what = what, .remedy = remedy});
}

void check(dnnl_status_t status, const ProductSizes& sizes) {
  if (status == dnnl_success) return;
  refuse(format("oneDNN's sgemm gave status {} for {} x {} with {} terms", static_cast<int>(status),
                sizes.rows, sizes.columns, sizes.terms),
         status == dnnl_out_of_memory ? "use a smaller micro-batch size" : "");
}

// oneDNN asks OpenMP how many threads the calling thread may use: one, since our pool already has
// all cores. The runtime is asked for by name, so that nothing of ours is compiled for OpenMP and
// the function comes from the one that oneDNN itself runs on.
void keep_to_one_thread() {
  const unsigned runtime = dnnl_version()->cpu_runtime;
  if (runtime == DNNL_RUNTIME_SEQ) return;
  auto* set_threads = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (runtime != DNNL_RUNTIME_OMP || set_threads == nullptr) {
    refuse(format("this oneDNN was built for threads of kind {}, which cannot be kept to one",
                  runtime),
           "install the distribution's libdnnl, which uses OpenMP");
  }
  set_threads(1);
}

}  // namespace

void sgemm(const ProductSizes& sizes, const Factor& a, const Factor& b, bool accumulate, float* c,
           int64_t c_stride) {
  static thread_local const bool kept = (keep_to_one_thread(), true);
  static_cast<void>(kept);
  check(dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', sizes.rows, sizes.columns,
                   sizes.terms, 1.0F, a.data, a.stride, b.data, b.stride, accumulate ? 1.0F : 0.0F,
                   c, c_stride),
        sizes);
}

}  // namespace trireme::ops::cpu
