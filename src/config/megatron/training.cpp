// How much is trained on, with which optimizer, in which precision.

#include "config/megatron/sections.h"

namespace trireme::config::megatron {
Section batch_section() {
  Section s = {.title = "Batch and length"};
  same(s, {"micro-batch-size", "global-batch-size", "rampup-batch-size", "step-batch-size-schedule",
           "train-iters", "train-samples", "seed", "exit-interval", "exit-duration-in-mins"});
  refused(s, Takes::one, {"batch-size"}, "Megatron-LM does not take it any more",
          "use --micro-batch-size");
  always(s, {"exit-signal-handler"},
         "SIGTERM, SIGUSR1, SIGHUP and Ctrl-C end a run behind the step under way, with a save");
  refused(s, Takes::nothing, {"decrease-batch-size-if-needed"},
          "the global batch is what was asked for, or refused", kLeaveOut);
  refused(s, Takes::several, {"iterations-to-skip"}, "no iteration is skipped", kLeaveOut);
  refused(s, Takes::nothing, {"skip-train"}, "validation belongs to a training run",
          "leave it out; a run validates every --eval-interval iterations");
  refused(s, Takes::nothing, {"no-check-for-nan-in-loss-and-grad"},
          "a loss or gradient that is not finite is always found and told",
          "leave it out; --on-nan skip leaves out the step and goes on");
  always(s, {"check-for-nan-in-loss-and-grad"},
         "a loss or gradient that is not finite is always found; --on-nan says what follows");
  refused(s, Takes::nothing, {"check-for-spiky-loss", "check-for-large-grads"},
          "only values that are not finite stop a run", kLeaveOut);
  always_at(s, "rerun-mode", {"disabled"}, "no step is computed twice");
  refused(s, Takes::one,
          {"error-injection-rate", "error-injection-type", "result-rejected-tracker-filename"},
          "no step is computed twice", kLeaveOut);
  always(s, {"calculate-per-token-loss"},
         "the loss is the mean over the counted tokens of the global batch");
  return s;
}

Section optimizer_section() {
  Section s = {.title = "Optimizer and learning rate"};
  same(s, {"lr", "min-lr", "lr-decay-style", "lr-decay-iters", "lr-decay-samples",
           "lr-warmup-iters", "lr-warmup-samples", "lr-warmup-fraction", "lr-warmup-init",
           "lr-wsd-decay-style", "lr-wsd-decay-iters", "lr-wsd-decay-samples", "weight-decay",
           "adam-beta1", "adam-beta2", "adam-eps", "clip-grad"});
  always_at(s, "optimizer", {"adam"}, "the optimizer is AdamW, as Megatron-LM's adam");
  refused(s, Takes::one, {"sgd-momentum"}, "the optimizer is AdamW", kLeaveOut);
  refused(s, Takes::one,
          {"muon-momentum", "muon-scale-mode", "muon-fp32-matmul-prec", "muon-num-ns-steps",
           "muon-tp-mode", "muon-extra-scale-factor"},
          "the optimizer is AdamW", kLeaveOut);
  refused(s, Takes::nothing, {"muon-no-split-qkv", "muon-use-nesterov"}, "the optimizer is AdamW",
          kLeaveOut);
  always_at(s, "weight-decay-incr-style", {"constant"}, "the weight decay stays the same");
  refused(s, Takes::one, {"start-weight-decay", "end-weight-decay"},
          "the weight decay stays the same", "use --weight-decay");
  refused(s, Takes::one, {"decoupled-lr", "decoupled-min-lr"}, "all weights have one learning rate",
          "use --lr and --min-lr");
  refused(s, Takes::one, {"warmup"}, "Megatron-LM does not take it any more",
          "use --lr-warmup-fraction or --lr-warmup-iters");
  always(s, {"override-opt-param-scheduler"},
         "the learning rate follows from the options given now, also after --load");
  refused(s, Takes::nothing, {"use-checkpoint-opt-param-scheduler"},
          "the learning rate follows from the options given now",
          "leave it out and give the options of the run that is continued");
  refused(s, Takes::nothing,
          {"optimizer-cpu-offload", "use-torch-optimizer-for-cpu-offload",
           "overlap-cpu-optimizer-d2h-h2d", "use-precision-aware-optimizer"},
          "the optimizer's state is fp32 and lies beside the weights", kLeaveOut);
  refused(s, Takes::one, {"optimizer-offload-fraction", "dump-param-to-param-group-map"},
          "the optimizer's state is fp32 and lies beside the weights", kLeaveOut);
  always(s, {"no-pin-cpu-grads", "no-pin-cpu-params"}, "nothing is offloaded");
  for (const char* name :
       {"main-grads-dtype", "main-params-dtype", "exp-avg-dtype", "exp-avg-sq-dtype"}) {
    always_at(s, name, {"fp32"}, "gradients, weights and moments are fp32");
  }
  return s;
}

Section precision_section() {
  // A change that adds a precision turns its lines into `same`: a test asks for it.
  constexpr const char* fp32_only = "this version computes in fp32";
  constexpr const char* no_scale = "fp32 needs no loss scale";
  Section s = {.title = "Precision"};
  refused(s, Takes::nothing, {"fp16", "bf16"}, fp32_only, "leave it out to train in fp32");
  refused(s, Takes::one,
          {"loss-scale", "initial-loss-scale", "min-loss-scale", "loss-scale-window", "hysteresis"},
          no_scale, kLeaveOut);
  always(s, {"fp32-residual-connection"}, "the residual stream is fp32");
  always(s, {"attention-softmax-in-fp32"}, "the softmax is computed in fp32");
  always(s, {"apply-query-key-layer-scaling"},
         "the softmax is computed in fp32, which needs no scaling by layer");
  always(s, {"no-query-key-layer-scaling"}, "scores are not scaled by layer");
  always(s, {"accumulate-allreduce-grads-in-fp32"}, "gradients are added up in fp32");
  refused(s, Takes::nothing, {"grad-reduce-in-bf16"}, "gradients are added up in fp32", kLeaveOut);
  refused(s, Takes::nothing, {"fp16-lm-cross-entropy"}, fp32_only, kLeaveOut);
  always(s, {"disable-bf16-reduced-precision-matmul"}, "products add up in fp32");
  refused(s, Takes::one,
          {"fp8-format", "fp8-recipe", "fp8-margin", "fp8-interval", "fp8-amax-history-len",
           "fp8-amax-compute-algo", "num-layers-at-start-in-bf16", "num-layers-at-end-in-bf16",
           "fp4-format"},
          fp32_only, kLeaveOut);
  refused(
      s, Takes::nothing,
      {"fp8-param-gather", "fp8-param", "fp8-e4m3", "fp8-hybrid", "no-fp8-wgrad",
       "first-last-layers-bf16", "reuse-grad-buf-for-mxfp8-param-ag", "keep-fp8-transpose-cache"},
      fp32_only, kLeaveOut);
  return s;
}

}  // namespace trireme::config::megatron
