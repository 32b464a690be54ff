#include "bench/peers.h"

#include <dlfcn.h>

#include <cstdlib>

namespace trireme::bench {
namespace {

// CBLAS by the numbers of its standard enumerations.
constexpr int kRowMajor = 101;
constexpr int kAsStored = 111;
constexpr int kTransposed = 112;
using CblasSgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                            float alpha, const float* a, int lda, const float* b, int ldb,
                            float beta, float* c, int ldc);

class OpenBlas final : public Peer {
 public:
  OpenBlas(CblasSgemm sgemm, std::string core) : sgemm_(sgemm), core_(std::move(core)) {}

  [[nodiscard]] std::string name() const override { return "OpenBLAS " + core_; }
  void multiply(const ops::cpu::Multiplication& p, int64_t out_stride) override {
    sgemm_(kRowMajor, p.left.by_term ? kTransposed : kAsStored,
           p.right.by_term ? kAsStored : kTransposed, static_cast<int>(p.rows),
           static_cast<int>(p.columns), static_cast<int>(p.terms), 1.0F, p.left.data,
           static_cast<int>(p.left.stride), p.right.data, static_cast<int>(p.right.stride), 0.0F,
           p.out, static_cast<int>(out_stride));
  }

 private:
  CblasSgemm sgemm_;
  std::string core_;
};

// Reads its environment when it is loaded, hence opened here and not linked to. What it does not
// recognise it takes for a processor of 2004; whoever sets OPENBLAS_CORETYPE knows better.
std::unique_ptr<Peer> open_blas() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) ::setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void* library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto* sgemm = reinterpret_cast<CblasSgemm>(::dlsym(library, "cblas_sgemm"));
  auto* core = reinterpret_cast<char* (*)()>(::dlsym(library, "openblas_get_corename"));
  if (sgemm == nullptr) return nullptr;
  return std::make_unique<OpenBlas>(sgemm, core == nullptr ? "" : core());
}

}  // namespace

std::vector<std::unique_ptr<Peer>> peers() {
  std::vector<std::unique_ptr<Peer>> found = onednn_peers();
  if (std::unique_ptr<Peer> blas = open_blas()) found.push_back(std::move(blas));
  return found;
}

}  // namespace trireme::bench
