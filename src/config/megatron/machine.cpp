// Kernels, memory, and how the work is cut over ranks.

#include "config/megatron/sections.h"

namespace trireme::config::megatron {
namespace {

// Each data-parallel rank holds what it trains; the distributed optimizer will change that.
constexpr const char* kWholeOptimizer =
    "every data-parallel rank holds all weights and moments of its stage in this version";
constexpr const char* kOwnMessages =
    "ranks exchange data by this program's own means (threads, MPI); no result depends on them";
constexpr const char* kOwnOverlap =
    "what can be sent while something computes, is; no result depends on it";

}  // namespace

Section kernels_section() {
  constexpr const char* own_kernels = "the program has one implementation of each op";
  Section s = {.title = "Kernels and fusion"};
  always(s, {"use-mcore-models", "use-legacy-models"}, "there is one implementation of the model");
  always_at(s, "transformer-impl", {"local", "transformer_engine"},
            "there is one implementation of the model");
  same(s, {"attention-backend"});
  always(s,
         {"use-flash-attn", "use-te-activation-func", "no-persist-layer-norm",
          "no-masked-softmax-fusion", "no-bias-dropout-fusion", "no-bias-swiglu-fusion",
          "no-gradient-accumulation-fusion", "cross-entropy-loss-fusion",
          "use-fused-weighted-squared-relu"},
         own_kernels);
  always_at(s, "cross-entropy-fusion-impl", {"native", "te"}, own_kernels);
  always(s, {"deterministic-mode"}, "the same options and seed give the same losses, bit for bit");
  refused(s, Takes::nothing, {"enable-cuda-graph", "external-cuda-graph"},
          "this version runs on the CPU", kLeaveOutSame);
  refused(s, Takes::one, {"cuda-graph-impl", "cuda-graph-warmup-steps"},
          "this version runs on the CPU", kLeaveOutSame);
  refused(s, Takes::several, {"cuda-graph-scope"}, "this version runs on the CPU", kLeaveOutSame);
  refused(s, Takes::nothing, {"te-rng-tracker", "inference-rng-tracker"},
          "random numbers are functions of seed and place, there is nothing to track", kLeaveOut);
  refused(s, Takes::one, {"onnx-safe", "kitchen-config-file", "kitchen-recipe-number"}, own_kernels,
          kLeaveOut);
  return s;
}

Section parallel_section() {
  Section s = {.title = "Parallelism"};
  same(s, {"tensor-model-parallel-size", "pipeline-model-parallel-size",
           "num-layers-per-virtual-pipeline-stage", "num-virtual-stages-per-pipeline-rank",
           "microbatch-group-size-per-virtual-pipeline-stage", "pipeline-model-parallel-layout",
           "use-tp-pp-dp-mapping"});
  refused(s, Takes::one, {"model-parallel-size"}, "Megatron-LM does not take it any more",
          "use --tensor-model-parallel-size");
  always_at(s, "context-parallel-size", {"1"}, "a sequence is not cut over ranks");
  refused(s, Takes::several, {"cp-comm-type", "hierarchical-context-parallel-sizes"},
          "a sequence is not cut over ranks", kLeaveOut);
  refused(s, Takes::nothing, {"sequence-parallel"},
          "tensor-parallel ranks hold whole sequences between their layers in this version",
          kLeaveOutSame);
  refused(s, Takes::one, {"decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers"},
          "one option says the layers of every stage",
          "use --pipeline-model-parallel-layout, as in 'Ett|tttt|tttL'");
  refused(s, Takes::nothing,
          {"account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split"},
          "a balanced layout counts embedding and head by their work",
          "use --pipeline-layout auto");
  refused(s, Takes::nothing, {"standalone-embedding-stage"},
          "one option says the layers of every stage",
          "use --pipeline-model-parallel-layout, as in 'E|tt|ttL'");
  refused(s, Takes::one, {"pipeline-model-parallel-split-rank"}, "a GPT has no encoder", kLeaveOut);
  refused(s, Takes::nothing,
          {"use-torch-fsdp2", "use-megatron-fsdp", "use-custom-fsdp", "init-model-with-meta-device",
           "fsdp-double-buffer", "torch-fsdp2-no-reshard-after-forward"},
          "weights are not cut over data-parallel ranks", kLeaveOut);
  refused(s, Takes::one, {"data-parallel-sharding-strategy"},
          "weights are not cut over data-parallel ranks", kLeaveOut);
  refused(s, Takes::nothing, {"data-parallel-random-init"},
          "data-parallel ranks hold the same weights", kLeaveOut);
  refused(s, Takes::one,
          {"encoder-tensor-model-parallel-size", "encoder-pipeline-model-parallel-size"},
          "a GPT has no encoder", kLeaveOut);
  return s;
}

Section reduction_section() {
  Section s = {.title = "Communication"};
  same(s, {"overlap-grad-reduce", "ddp-bucket-size", "no-scatter-gather-tensors-in-pipeline",
           "distributed-timeout-minutes"});
  refused(s, Takes::nothing,
          {"use-distributed-optimizer", "overlap-param-gather",
           "overlap-param-gather-with-optimizer-step"},
          kWholeOptimizer, kLeaveOutSame);
  refused(s, Takes::one, {"num-distributed-optimizer-instances"}, kWholeOptimizer, kLeaveOutSame);
  refused(s, Takes::one, {"ddp-num-buckets"}, "buckets are given by their size",
          "use --ddp-bucket-size");
  always(s,
         {"no-async-tensor-model-parallel-allreduce", "async-tensor-model-parallel-allreduce",
          "no-overlap-p2p-communication", "overlap-p2p-communication-warmup-flush",
          "tp-comm-overlap", "disable-tp-comm-overlap-ag", "disable-tp-comm-overlap-rs",
          "tp-comm-overlap-rs-dgrad", "disable-tp-comm-bulk-dgrad", "disable-tp-comm-bulk-wgrad",
          "disable-tp-comm-split-ag", "disable-tp-comm-split-rs"},
         kOwnOverlap);
  always_any(s, {"tp-comm-overlap-cfg"}, kOwnOverlap);
  always(s, {"no-align-grad-reduce", "no-delay-grad-reduce", "delay-grad-reduce"},
         "each stage adds a bucket's gradients when they are there, on its own");
  always(s, {"no-align-param-gather", "delay-param-gather"}, "no weights are gathered");
  always_any(s, {"suggested-communication-unit-size"}, "no weights are gathered");
  always(s, {"no-contiguous-buffers-in-local-ddp"},
         "gradients lie side by side in memory from the start, which costs no copy");
  always(s, {"ddp-average-in-collective", "no-gradient-reduce-div-fusion"},
         "gradients are divided once, at the loss, and then only added");
  always(s, {"ddp-reduce-scatter-with-fp32-accumulation"}, "gradients are added in fp32");
  always(
      s,
      {"use-ring-exchange-p2p", "ddp-pad-buckets-for-high-nccl-busbw",
       "disable-gloo-process-groups", "use-nccl-ub", "use-sharp", "disable-symmetric-registration"},
      kOwnMessages);
  always_any(s, {"nccl-communicator-config-path", "sharp-enabled-group"}, kOwnMessages);
  always_at(s, "DDP-impl", {"local", "torch"}, kOwnMessages);
  always_at(s, "distributed-backend", {"nccl", "gloo", "mpi", "ucc"}, kOwnMessages);
  always_at(s, "tp-comm-bootstrap-backend", {"nccl", "gloo", "mpi"}, kOwnMessages);
  always_at(s, "pipeline-model-parallel-comm-backend", {"nccl", "ucc"}, kOwnMessages);
  refused(s, Takes::one, {"distributed-timeout-seconds-after-init"},
          "the limit is the same from start to end", "use --distributed-timeout-seconds instead");
  refused(s, Takes::several, {"high-priority-stream-groups"}, "this version runs on the CPU",
          kLeaveOutSame);
  refused(s, Takes::nothing, {"defer-embedding-wgrad-compute", "delay-wgrad-compute"},
          "each weight gradient is computed right behind its input gradient", kLeaveOutSame);
  refused(s, Takes::one, {"wgrad-deferral-limit"},
          "each weight gradient is computed right behind its input gradient", kLeaveOutSame);
  return s;
}

Section memory_section() {
  constexpr const char* kept = "activations are kept for the backward in this version";
  Section s = {.title = "Memory"};
  refused(s, Takes::nothing,
          {"recompute-activations", "checkpoint-activations", "distribute-saved-activations",
           "distribute-checkpointed-activations"},
          kept, kLeaveOutSame);
  refused(s, Takes::one,
          {"recompute-granularity", "recompute-method", "recompute-num-layers",
           "activations-checkpoint-method", "activations-checkpoint-num-layers",
           "checkpoint-num-layers"},
          kept, kLeaveOutSame);
  refused(s, Takes::several, {"recompute-modules"}, kept, kLeaveOutSame);
  refused(s, Takes::one, {"cpu-offloading-num-layers"}, kept, kLeaveOutSame);
  always(s, {"use-cpu-initialization"},
         "initial weights are a function of the seed and the place in the whole tensor");
  always(s, {"no-initialization"}, "a run that continues takes its weights from the checkpoint");
  always_at(s, "empty-unused-memory-level", {"0", "1", "2"},
            "memory is allocated once, before the first step");
  always(s, {"manual-gc", "no-manual-gc-eval"}, "there is no garbage collector");
  always_any(s, {"manual-gc-interval"}, "there is no garbage collector");
  always(s, {"no-clone-scatter-output-in-embedding"},
         "memory is allocated once, before the first step");
  refused(s, Takes::nothing, {"record-memory-history"},
          "the memory table is printed before the first step", "leave it out, see --dry-run");
  refused(s, Takes::one, {"memory-snapshot-path"},
          "the memory table is printed before the first step", "leave it out, see --dry-run");
  return s;
}

}  // namespace trireme::config::megatron
