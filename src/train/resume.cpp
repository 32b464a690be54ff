#include "train/resume.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::train {
namespace {

using Differences = std::vector<config::Difference>;

std::string text_of(const Differences& differences) {
  std::string text;
  for (const config::Difference& d : differences) {
    text += format("{}--{} {} (here {})", text.empty() ? "" : ", ", d.name, d.left, d.right);
  }
  return text;
}

// The differences whose names are listed, or those that are not.
template <size_t N>
Differences pick(Differences all, const std::array<const char*, N>& names, bool listed) {
  std::erase_if(all, [&](const config::Difference& d) {
    return (std::find(names.begin(), names.end(), d.name) != names.end()) != listed;
  });
  return all;
}

// A global batch that is not given is one microbatch of each data rank.
config::BatchOptions with_batch(config::BatchOptions batch, const parallel::Topology& ranks) {
  if (!batch.global_batch_size && !batch.step_batch_size_schedule)
    batch.global_batch_size = batch.micro_batch_size * ranks.data();
  return batch;
}

std::string layout_text(const parallel::Topology& ranks, int64_t micro_batch) {
  return format("p {} x t {} x d {} with microbatches of {}", ranks.pipeline(), ranks.tensor(),
                ranks.data(), micro_batch);
}

// Weights, moments and samples are the same whatever the layout; sums may be in another order.
void note_another_layout(const checkpoint::CheckpointReader& reader, const TrainOptions& saved,
                         const TrainOptions& options, const parallel::Topology& ranks) {
  const parallel::Topology& before = reader.manifest().run.ranks;
  const int64_t b_before = saved.batch.micro_batch_size;
  const int64_t b = options.batch.micro_batch_size;
  const bool same_sums =
      before.tensor() == ranks.tensor() && before.data() == ranks.data() && b_before == b;
  if (same_sums && before.pipeline() == ranks.pipeline()) return;
  note(format("{}: saved by {}, continued by {}: {}", reader.folder().string(),
              layout_text(before, b_before), layout_text(ranks, b),
              same_sums ? "with the same bits"
                        : "sums come in another order, so losses differ in their last digits"));
}

// A split that is not given is the default one.
config::DataOptions with_split(config::DataOptions data) {
  data.split = data.split_or_default();
  return data;
}

}  // namespace

TrainOptions saved_options(const checkpoint::CheckpointReader& reader) {
  TrainOptions saved;
  config::OptionSet set("trireme train");
  saved.declare(set);
  set.read_saved(reader.manifest().run.options,
                 (reader.folder() / checkpoint::kManifestFile).string(), config::OtherGroups::skip);
  return saved;
}

void require_continuable(const checkpoint::CheckpointReader& reader, const TrainOptions& options,
                         const parallel::Topology& ranks) {
  const TrainOptions saved = saved_options(reader);
  const auto refuse = [&](const Differences& differences, const char* what, const char* rule) {
    if (differences.empty()) return;
    fail({.where = reader.folder().string(),
          .what = what + text_of(differences),
          .rule = rule,
          .remedy = "give the same options, or start a new run without --load"});
  };
  refuse(pick(config::differences(saved.model, options.model),
              std::array{"hidden-dropout", "attention-dropout", "attention-backend"}, false),
         "the checkpoint is of another model: ", "a run continues with the same model");
  refuse(pick(config::differences(saved.batch, options.batch), std::array{"seed"}, true),
         "the checkpoint is of another run: ",
         "the position in the data and all random numbers follow from the seed");
  const Differences data = config::differences(with_split(saved.data), with_split(options.data));
  refuse(pick(data, std::array{"split", "mock-data"}, true),
         "the checkpoint is of another run: ", "the position in the data belongs to its split");
  const Differences elsewhere = pick(data,
                                     std::array{"data-path", "train-data-path", "valid-data-path",
                                                "test-data-path", "data-args-path"},
                                     true);
  Differences course = pick(config::differences(saved.model, options.model),
                            std::array{"hidden-dropout", "attention-dropout"}, true);
  for (Differences more :
       {pick(config::differences(with_batch(saved.batch, reader.manifest().run.ranks),
                                 with_batch(options.batch, ranks)),
             std::array{"global-batch-size", "rampup-batch-size", "step-batch-size-schedule"},
             true),
        config::differences(saved.optimizer, options.optimizer)}) {
    course.insert(course.end(), more.begin(), more.end());
  }
  if (!course.empty()) {
    note(format("{}: continuing otherwise than the run so far: {}", reader.folder().string(),
                text_of(course)));
  }
  note_another_layout(reader, saved, options, ranks);
  if (!elsewhere.empty()) {
    warn(format("{}: continuing on data of another name: {}", reader.folder().string(),
                text_of(elsewhere)));
  }
}

}  // namespace trireme::train
