#include "config/groups/optimizer.h"

#include <array>
#include <span>
#include <utility>

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
          field(&O::lr_decay_style,
                {.name = "lr-decay-style",
                 .help = "course of the learning rate after the warm-up",
                 .words = {"constant", "linear", "cosine", "inverse-square-root", "WSD"}}),
          field(&O::lr_decay_iters, {.name = "lr-decay-iters",
                                     .help = "end of the decay, warm-up included",
                                     .unit = "iterations",
                                     .otherwise = "the length of the run",
                                     .range = at_least(1)}),
          field(&O::lr_decay_samples,
                {.name = "lr-decay-samples",
                 .help = "end of the decay in samples, instead of lr-decay-iters",
                 .unit = "sequences",
                 .otherwise = "given by lr-decay-iters",
                 .range = at_least(1)}),
          field(&O::lr_warmup_iters, {.name = "lr-warmup-iters",
                                      .help = "length of the linear warm-up of the learning rate",
                                      .unit = "iterations",
                                      .range = at_least(0)}),
          field(&O::lr_warmup_samples,
                {.name = "lr-warmup-samples",
                 .help = "linear warm-up in samples, instead of lr-warmup-iters",
                 .unit = "sequences",
                 .range = at_least(0)}),
          field(
              &O::lr_warmup_fraction,
              {.name = "lr-warmup-fraction",
               .help = "linear warm-up as a part of the decay's length, instead of lr-warmup-iters",
               .otherwise = "given by lr-warmup-iters",
               .range = from_to_below(0, 1)}),
          field(&O::lr_warmup_init, {.name = "lr-warmup-init",
                                     .help = "learning rate at the start of the warm-up",
                                     .range = at_least(0)}),
          field(&O::lr_wsd_decay_style,
                {.name = "lr-wsd-decay-style",
                 .help = "WSD: course of the decay behind the stable part",
                 .words = {"exponential", "linear", "cosine", "minus_sqrt"}}),
          field(&O::lr_wsd_decay_iters,
                {.name = "lr-wsd-decay-iters",
                 .help = "WSD: length of that decay, which ends with lr-decay-iters",
                 .unit = "iterations",
                 .otherwise = "given by lr-wsd-decay-samples",
                 .range = at_least(1)}),
          field(&O::lr_wsd_decay_samples,
                {.name = "lr-wsd-decay-samples",
                 .help = "WSD: length of that decay in samples, instead of lr-wsd-decay-iters",
                 .unit = "sequences",
                 .otherwise = "given by lr-wsd-decay-iters",
                 .range = at_least(1)}),
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

namespace {

// Ways to say one thing, and whether each is given.
std::optional<Conflict> two_given(std::span<const std::pair<const char*, bool>> ways,
                                  const char* rule) {
  const char* first = nullptr;
  for (const auto& [name, given] : ways) {
    if (!given) continue;
    if (first != nullptr) {
      return Conflict{.names = {name, first},
                      .what = format("{} and {} are both given", name, first),
                      .rule = rule,
                      .remedy = "leave one of them out"};
    }
    first = name;
  }
  return std::nullopt;
}

}  // namespace

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
  const std::array<std::pair<const char*, bool>, 3> warmups = {
      {{"lr-warmup-iters", lr_warmup_iters > 0},
       {"lr-warmup-samples", lr_warmup_samples > 0},
       {"lr-warmup-fraction", lr_warmup_fraction.has_value()}}};
  const std::array<std::pair<const char*, bool>, 2> decays = {
      {{"lr-decay-iters", lr_decay_iters.has_value()},
       {"lr-decay-samples", lr_decay_samples.has_value()}}};
  const std::array<std::pair<const char*, bool>, 2> wsd_decays = {
      {{"lr-wsd-decay-iters", lr_wsd_decay_iters.has_value()},
       {"lr-wsd-decay-samples", lr_wsd_decay_samples.has_value()}}};
  if (auto conflict = two_given(warmups, "there is one warm-up")) return conflict;
  if (auto conflict = two_given(decays, "there is one decay")) return conflict;
  if (auto conflict = two_given(wsd_decays, "WSD has one decay")) return conflict;

  const bool wsd = lr_decay_style == LrDecayStyle::wsd;
  const bool has_wsd_decay = lr_wsd_decay_iters || lr_wsd_decay_samples;
  if (wsd != has_wsd_decay) {
    const char* given = lr_wsd_decay_samples ? "lr-wsd-decay-samples" : "lr-wsd-decay-iters";
    return Conflict{.names = {wsd ? "lr-decay-style" : given},
                    .what = wsd ? "lr-decay-style WSD without the length of its decay"
                                : format("{} without lr-decay-style WSD", given),
                    .rule = "WSD is warm-up, a stable part, and a decay of its own length",
                    .remedy = wsd ? "give lr-wsd-decay-iters" : "leave it out, or choose WSD"};
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
