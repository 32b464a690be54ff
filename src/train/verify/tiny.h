#pragma once
#include "train/options.h"

namespace trireme::train {

/// A run like this one in everything that a cut, a schedule or a program depends on, with sizes
/// that take seconds: p, t, d, v and the order of work stay, dropout, ties, forms of attention and
/// the optimizer too. Layers are as few as the cut allows (all, where a layout names them), two
/// heads of at most 8 for each tensor rank, sequences of at most 16, microbatches of at most 2
/// sequences and as many as the schedule needs. Words are few where the data are mock data, as they
/// are where the options name none; otherwise the data and their words stay. Weights are fresh.
/// What the options make impossible stays so: sizes that break a rule of the cut are not repaired.
[[nodiscard]] TrainOptions tiny_options(TrainOptions options, const parallel::Topology& topology);

}  // namespace trireme::train
