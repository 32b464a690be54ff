#include "config/groups/optimizer.h"

#include "core/format.h"

namespace trireme::config {

const Group& OptimizerOptions::group() {
  using O = OptimizerOptions;
  static const Group table = {
      "Optimizer",
      "AdamW and the course of the learning rate",
      {
          field(
              &O::lr,
              {.name = "lr", .help = "largest learning rate", .range = above(0), .required = true}),
          field(&O::min_lr, {.name = "min-lr",
                             .help = "learning rate at the end of the decay",
                             .range = at_least(0)}),
          field(&O::lr_decay_style, {.name = "lr-decay-style",
                                     .help = "course of the learning rate after the warm-up",
                                     .words = {"constant", "linear", "cosine"}}),
          field(&O::lr_decay_iters, {.name = "lr-decay-iters",
                                     .help = "end of the decay, warm-up included",
                                     .unit = "iterations",
                                     .otherwise = "train-iters",
                                     .range = at_least(1)}),
          field(&O::lr_warmup_iters, {.name = "lr-warmup-iters",
                                      .help = "linear warm-up of the learning rate",
                                      .unit = "iterations",
                                      .range = at_least(0)}),
          field(&O::lr_warmup_fraction, {.name = "lr-warmup-fraction",
                                         .help = "linear warm-up as a part of lr-decay-iters, "
                                                 "instead of lr-warmup-iters",
                                         .otherwise = "lr-warmup-iters holds",
                                         .range = from_to_below(0, 1)}),
          field(&O::lr_warmup_init, {.name = "lr-warmup-init",
                                     .help = "learning rate at the start of the warm-up",
                                     .range = at_least(0)}),
          field(&O::weight_decay, {.name = "weight-decay",
                                   .help = "decoupled weight decay; biases and norms take none",
                                   .range = at_least(0)}),
          field(&O::adam_beta1, {.name = "adam-beta1",
                                 .help = "decay of the first moment",
                                 .range = from_to_below(0, 1)}),
          field(&O::adam_beta2, {.name = "adam-beta2",
                                 .help = "decay of the second moment",
                                 .range = from_to_below(0, 1)}),
          field(&O::adam_eps, {.name = "adam-eps",
                               .help = "added to the root of the second moment",
                               .range = above(0)}),
          field(&O::clip_grad, {.name = "clip-grad",
                                .help = "largest global gradient norm; 0 for no clipping",
                                .range = at_least(0)}),
      }};
  return table;
}

std::optional<Conflict> OptimizerOptions::validate() const {
  if (min_lr > lr) {
    return Conflict{.names = {"min-lr", "lr"},
                    .what = format("min-lr {} is above lr {}", min_lr, lr),
                    .rule = "the learning rate falls from lr to min-lr",
                    .remedy = format("use min-lr {} or less", lr)};
  }
  if (lr_warmup_init > lr) {
    return Conflict{.names = {"lr-warmup-init", "lr"},
                    .what = format("lr-warmup-init {} is above lr {}", lr_warmup_init, lr),
                    .rule = "the warm-up rises from lr-warmup-init to lr",
                    .remedy = format("use lr-warmup-init {} or less", lr)};
  }
  if (lr_warmup_fraction && lr_warmup_iters > 0) {
    return Conflict{.names = {"lr-warmup-fraction", "lr-warmup-iters"},
                    .what = "lr-warmup-fraction and lr-warmup-iters are both given",
                    .rule = "there is one warm-up",
                    .remedy = "leave one of them out"};
  }
  if (lr_decay_iters && lr_warmup_iters >= *lr_decay_iters) {
    return Conflict{.names = {"lr-warmup-iters", "lr-decay-iters"},
                    .what = format("lr-warmup-iters {} is not below lr-decay-iters {}",
                                   lr_warmup_iters, *lr_decay_iters),
                    .rule = "lr-decay-iters counts the warm-up too",
                    .remedy = "use a shorter warm-up or a longer decay"};
  }
  return std::nullopt;
}

}  // namespace trireme::config
