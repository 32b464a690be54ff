// Checkpoints, what is reported, how a run is started, and what belongs to other models.

#include "config/megatron/sections.h"

namespace trireme::config::megatron {
namespace {

constexpr const char* kAnyLayout =
    "a checkpoint has one format, addressed by the whole tensors, which loads at any layout";

}  // namespace

Section checkpoint_section() {
  constexpr const char* whole_state = "a run continues bit for bit, with everything it had";
  Section s = {.title = "Checkpoints"};
  same(s, {"save", "load", "ckpt-step", "save-interval", "persistent-save-interval",
           "save-retain-interval", "exit-on-missing-checkpoint"});
  always_at(s, "ckpt-format", {"torch", "torch_dist", "zarr", "torch_dcp", "fsdp_dtensor"},
            kAnyLayout);
  always_any(s, {"dist-ckpt-format", "dist-ckpt-strictness"}, kAnyLayout);
  always(
      s,
      {"use-dist-ckpt", "auto-detect-ckpt-format", "ckpt-fully-parallel-save",
       "no-ckpt-fully-parallel-save", "ckpt-fully-parallel-load", "ckpt-assume-constant-structure",
       "dist-ckpt-optim-fully-reshardable", "distrib-optim-fully-reshardable-mem-efficient",
       "dist-ckpt-save-pre-mcore-014", "use-persistent-ckpt-worker"},
      kAnyLayout);
  always(s, {"no-save-rng", "no-load-rng"},
         "random numbers are functions of seed and position, there is no state to keep");
  refused(s, Takes::nothing, {"no-save-optim", "no-load-optim"}, whole_state, kLeaveOut);
  refused(s, Takes::nothing, {"finetune", "load-main-params-from-ckpt"}, whole_state,
          "leave it out; a checkpoint is continued, not started from, in this version");
  refused(s, Takes::one, {"pretrained-checkpoint"}, whole_state, "use --load to continue a run");
  refused(s, Takes::nothing,
          {"use-checkpoint-args", "use-mp-args-from-checkpoint-args",
           "no-use-tokenizer-model-from-checkpoint-args"},
          "options are given, and compared with the checkpoint's",
          "leave it out and give the options of the run, which its manifest.json has");
  refused(s, Takes::nothing, {"async-save"}, "the run waits for a save in this version",
          kLeaveOutSame);
  refused(
      s, Takes::one,
      {"non-persistent-save-interval", "non-persistent-ckpt-type", "non-persistent-global-ckpt-dir",
       "non-persistent-local-ckpt-dir", "non-persistent-local-ckpt-algo"},
      "checkpoints are durable", "use --save-interval, with --keep-last where room is scarce");
  refused(s, Takes::one, {"replication-jump", "replication-factor"}, "checkpoints are durable",
          kLeaveOut);
  refused(s, Takes::nothing, {"replication"}, "checkpoints are durable", kLeaveOut);
  refused(s, Takes::one, {"ckpt-convert-format", "ckpt-convert-save"},
          "only Trireme's checkpoints are read in this version", kLeaveOut);
  refused(s, Takes::nothing,
          {"ckpt-convert-update-legacy-dist-opt-format", "no-strict-fsdp-dtensor-load"},
          "only Trireme's checkpoints are read in this version", kLeaveOut);
  return s;
}

Section logging_section() {
  constexpr const char* events =
      "event files have loss, learning rate, batch size, gradient norm, time and throughput";
  constexpr const char* no_timers = "the log has the time of an iteration";
  Section s = {.title = "Log and validation"};
  same(s, {"log-interval", "eval-interval", "eval-iters", "tensorboard-dir",
           "tensorboard-log-interval"});
  always(s,
         {"log-validation-ppl-to-tensorboard", "log-batch-size-to-tensorboard",
          "log-learning-rate-to-tensorboard"},
         "event files have it");
  always(s, {"no-log-loss-scale-to-tensorboard"}, "fp32 has no loss scale");
  always_any(s, {"tensorboard-queue-size"}, "events are written at once");
  refused(
      s, Takes::nothing,
      {"log-timers-to-tensorboard", "log-memory-to-tensorboard", "log-world-size-to-tensorboard",
       "log-loss-scale-to-tensorboard", "no-log-learnig-rate-to-tensorboard"},
      events, kLeaveOut);
  refused(s, Takes::one, {"wandb-project", "wandb-entity", "wandb-exp-name", "wandb-save-dir"},
          "nothing is sent to services",
          "give --tensorboard-dir, or --metrics-file for a line of JSON per step");
  always(s, {"log-throughput"}, "the log has the throughput");
  refused(s, Takes::nothing, {"log-params-norm", "log-num-zeros-in-grad", "log-energy"},
          "the log has loss, gradient norm, learning rate, throughput and time", kLeaveOut);
  refused(s, Takes::nothing, {"log-progress"}, "there is no progress.txt",
          "leave it out; --metrics-file has it all");
  always_at(s, "timing-log-level", {"0"}, no_timers);
  always_at(s, "timing-log-option", {"max", "minmax", "all"}, no_timers);
  always(s, {"no-barrier-with-level-1-timing"}, no_timers);
  always_any(s, {"logging-level"}, "the log has one level");
  refused(s, Takes::one, {"config-logger-dir"}, "a checkpoint holds the options of its run",
          kLeaveOut);
  refused(s, Takes::nothing, {"profile", "use-pytorch-profiler"},
          "the program writes traces itself", "use --trace FILE");
  refused(s, Takes::one, {"profile-step-start", "profile-step-end"},
          "a trace begins with the first step", "use --inspect-iters");
  refused(s, Takes::several, {"profile-ranks"}, "a trace is of all ranks", kLeaveOut);
  refused(s, Takes::nothing,
          {"log-straggler", "disable-straggler-on-startup", "run-workload-inspector-server"},
          "there is no detector of slow ranks", kLeaveOut);
  refused(s, Takes::one, {"straggler-ctrlr-port", "straggler-minmax-count"},
          "there is no detector of slow ranks", kLeaveOut);
  refused(s, Takes::nothing, {"full-validation", "multiple-validation-sets"},
          "a validation is eval-iters global batches", "use --eval-iters");
  refused(s, Takes::nothing, {"test-mode"}, "tests are programs of their own", kLeaveOut);
  return s;
}

Section experts_section() {
  constexpr const char* dense = "the model is dense, without experts";
  Section s = {.title = "Mixture of experts"};
  always_at(s, "expert-model-parallel-size", {"1"}, dense);
  always_at(s, "expert-tensor-parallel-size", {"1"}, dense);
  refused(s, Takes::one,
          {"num-experts", "moe-layer-freq", "moe-ffn-hidden-size",
           "moe-shared-expert-intermediate-size", "moe-router-dtype", "moe-router-score-function",
           "moe-router-topk", "moe-router-num-groups", "moe-router-group-topk",
           "moe-router-topk-scaling-factor", "moe-router-topk-limited-devices",
           "moe-router-bias-update-rate", "moe-z-loss-coeff", "moe-input-jitter-eps",
           "moe-token-dispatcher-type", "moe-deepep-num-sms", "moe-expert-capacity-factor",
           "moe-token-drop-policy", "moe-upcycling-granularity"},
          dense, kLeaveOut);
  refused(s, Takes::several, {"moe-router-load-balancing-type", "moe-aux-loss-coeff"}, dense,
          kLeaveOut);
  refused(
      s, Takes::nothing,
      {"moe-shared-expert-overlap", "moe-grouped-gemm", "moe-use-legacy-grouped-gemm",
       "moe-layer-recompute", "moe-extended-tp", "moe-use-upcycling", "moe-router-fusion",
       "moe-router-pre-softmax", "moe-router-enable-expert-bias", "moe-router-force-load-balancing",
       "moe-router-padding-for-fp8", "moe-per-layer-logging", "moe-enable-deepep",
       "moe-permute-fusion", "moe-pad-expert-input-to-capacity", "moe-apply-probs-on-input",
       "moe-pad-experts-for-cuda-graph-inference", "overlap-moe-expert-parallel-comm"},
      dense, kLeaveOut);
  return s;
}

Section launch_section() {
  constexpr const char* launched =
      "ranks are threads of one process (--ranks), or the processes of mpirun or srun, on as many "
      "hosts as it is told";
  constexpr const char* met = "mpirun or srun starts the ranks of several hosts and lets them meet";
  Section s = {.title = "Start (torchrun's options too)"};
  always_at(s, "local-rank", {"0"}, "a rank finds its place itself",
            "leave it out; start ranks with --ranks, mpirun or srun, without torchrun");
  refused(s, Takes::one, {"nproc-per-node"}, launched,
          "use --ranks, or mpirun -n (srun -n) (docs/hosts.md)");
  refused(s, Takes::one, {"nnodes"}, launched,
          "leave it out on one host; name several to mpirun -H or srun -N (docs/hosts.md)");
  refused(s, Takes::one,
          {"node-rank", "master-addr", "master-port", "rdzv-backend", "rdzv-endpoint", "rdzv-id",
           "rdzv-conf"},
          met, "leave it out; how hosts are named is in docs/hosts.md");
  refused(s, Takes::nothing, {"standalone"}, met, "leave it out, it is so without mpirun and srun");
  refused(s, Takes::one, {"max-restarts", "monitor-interval"},
          "a run that was ended is started again with --load", kLeaveOut);
  refused(s, Takes::one, {"log-dir", "redirects", "tee"},
          "the first rank writes the log, to the standard outputs",
          "leave it out; redirect the program, or use --metrics-file");
  refused(s, Takes::one, {"lazy-mpu-init"}, "ranks are there before anything else", kLeaveOut);
  refused(s, Takes::one, {"yaml-cfg"}, "run files are written in TOML",
          "use --config with lines of the form name = value");
  refused(s, Takes::nothing,
          {"adlr-autoresume", "inprocess-restart", "enable-ft-package", "calc-ft-timeouts"},
          "a run that was ended is started again with --load", kLeaveOut);
  refused(s, Takes::one, {"adlr-autoresume-interval"},
          "a run that was ended is started again with --load", kLeaveOut);
  return s;
}

Section other_section() {
  constexpr const char* not_sent = "nothing is sent to services";
  constexpr const char* gpt = "only GPTs are trained";
  Section s = {.title = "Other"};
  always(s, {"no-one-logger", "disable-msc"}, not_sent);
  refused(s, Takes::one,
          {"one-logger-project", "one-logger-run-name", "app-tag-run-name", "app-tag-run-version"},
          not_sent, kLeaveOut);
  refused(s, Takes::nothing, {"one-logger-async", "enable-one-logger"}, not_sent, kLeaveOut);
  refused(s, Takes::nothing, {"enable-experimental"}, "what there is, is in --help", kLeaveOut);
  refused(s, Takes::one, {"train-sync-interval"}, "this version runs on the CPU", kLeaveOut);
  refused(s, Takes::one, {"check-weight-hash-across-dp-replicas-interval"},
          "replicas hold the same weights, bit for bit, by the order of their sums", kLeaveOut);
  refused(s, Takes::nothing,
          {"bert-no-binary-head", "retro-add-retriever", "vision-pretraining", "perform-rl-step"},
          gpt, kLeaveOut);
  refused(s, Takes::one, {"retro-project-dir", "bert-load", "ict-head-size", "num-classes"}, gpt,
          kLeaveOut);
  return s;
}

}  // namespace trireme::config::megatron
