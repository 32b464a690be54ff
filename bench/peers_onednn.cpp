#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>

#include "bench/peers.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::bench {
namespace {

// oneDNN asks OpenMP how many threads the calling thread may use. The function is that of the
// runtime which oneDNN itself brought along.
void keep_to_one_thread() {
  static thread_local const bool kept = [] {
    auto* set_threads =
        reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (set_threads != nullptr) set_threads(1);
    return true;
  }();
  static_cast<void>(kept);
}

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return format("oneDNN {}.{}", v->major, v->minor);
}

class Sgemm final : public Peer {
 public:
  [[nodiscard]] std::string name() const override { return version() + " sgemm"; }
  void multiply(const ops::cpu::Multiplication& p, int64_t out_stride) override {
    keep_to_one_thread();
    const dnnl_status_t status = dnnl_sgemm(
        p.left.by_term ? 'T' : 'N', p.right.by_term ? 'N' : 'T', p.rows, p.columns, p.terms, 1.0F,
        p.left.data, p.left.stride, p.right.data, p.right.stride, 0.0F, p.out, out_stride);
    if (status != dnnl_success) {
      fail({.where = "oneDNN", .what = format("dnnl_sgemm gave status {}", int{status})});
    }
  }
};

// The right factor is packed into the layout that the primitive wants, every time.
class PackedMatmul final : public Peer {
 public:
  [[nodiscard]] std::string name() const override { return version() + " matmul, packed"; }
  void multiply(const ops::cpu::Multiplication& p, int64_t out_stride) override {
    keep_to_one_thread();
    Plan& plan = plan_for(p, out_stride);
    using Memory = dnnl::memory;
    Memory left(plan.matmul_desc.src_desc(), engine_, const_cast<float*>(p.left.data));
    Memory right(plan.right, engine_, const_cast<float*>(p.right.data));
    Memory out(plan.matmul_desc.dst_desc(), engine_, p.out);
    dnnl::stream stream(engine_);
    plan.reorder.execute(stream, right, plan.packed);
    plan.matmul.execute(
        stream, {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, plan.packed}, {DNNL_ARG_DST, out}});
    stream.wait();
  }

 private:
  struct Plan {
    dnnl::memory::desc right;
    dnnl::matmul::primitive_desc matmul_desc;
    dnnl::matmul matmul;
    dnnl::memory packed;
    dnnl::reorder reorder;
  };

  [[nodiscard]] dnnl::matmul::primitive_desc describe(const dnnl::memory::desc& left,
                                                      const dnnl::memory::desc& right,
                                                      const dnnl::memory::desc& out) const {
#if DNNL_VERSION_MAJOR >= 3
    return {engine_, left, right, out};
#else
    return {{left, right, out}, engine_};
#endif
  }

  // Of the calling thread, since its packed memory is in it.
  Plan& plan_for(const ops::cpu::Multiplication& p, int64_t out_stride) {
    using Desc = dnnl::memory::desc;
    constexpr auto kFloat = dnnl::memory::data_type::f32;
    static thread_local std::map<std::array<int64_t, 8>, Plan> plans;
    const std::array<int64_t, 8> key = {p.rows,          p.columns,      p.terms,
                                        p.left.stride,   p.right.stride, p.left.by_term,
                                        p.right.by_term, out_stride};
    if (const auto found = plans.find(key); found != plans.end()) return found->second;
    using Dims = dnnl::memory::dims;
    const Desc left({p.rows, p.terms}, kFloat,
                    p.left.by_term ? Dims{1, p.left.stride} : Dims{p.left.stride, 1});
    const Desc right({p.terms, p.columns}, kFloat,
                     p.right.by_term ? Dims{p.right.stride, 1} : Dims{1, p.right.stride});
    const Desc out({p.rows, p.columns}, kFloat, Dims{out_stride, 1});
    const Desc any({p.terms, p.columns}, kFloat, dnnl::memory::format_tag::any);
    Plan plan;
    plan.right = right;
    plan.matmul_desc = describe(left, any, out);
    plan.matmul = dnnl::matmul(plan.matmul_desc);
    plan.packed = dnnl::memory(plan.matmul_desc.weights_desc(), engine_);
    plan.reorder = dnnl::reorder(
        dnnl::reorder::primitive_desc(engine_, right, engine_, plan.matmul_desc.weights_desc()));
    return plans.emplace(key, std::move(plan)).first->second;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
};

}  // namespace

std::vector<std::unique_ptr<Peer>> onednn_peers() {
  std::vector<std::unique_ptr<Peer>> found;
  found.push_back(std::make_unique<Sgemm>());
  found.push_back(std::make_unique<PackedMatmul>());
  return found;
}

}  // namespace trireme::bench
