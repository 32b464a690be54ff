#include "config/groups/data.h"

#include "core/format.h"

namespace trireme::config {

const Group& DataOptions::group() {
  using O = DataOptions;
  static const Group table = {
      "Data",
      "the token files that are trained on, and how batches are made of them",
      {
          field(&O::data_path,
                {.name = "data-path",
                 .help = "prefix of a .bin and .idx pair; or several, each read once; or weights "
                         "and prefixes in turn, as in 0.3 A 0.7 B",
                 .otherwise = "none"}),
          field(&O::train_data_path, {.name = "train-data-path",
                                      .help = "instead of data-path and split: datasets of the "
                                              "training part, read whole",
                                      .otherwise = "none"}),
          field(&O::valid_data_path,
                {.name = "valid-data-path",
                 .help = "datasets of the validation part, beside train-data-path",
                 .otherwise = "none"}),
          field(&O::test_data_path,
                {.name = "test-data-path",
                 .help = "datasets of a test at the end of the run, of eval-iters batches, beside "
                         "train-data-path",
                 .otherwise = "none"}),
          field(&O::data_args_path,
                {.name = "data-args-path",
                 .help = "file with the items of data-path, between blanks or lines, for blends "
                         "that are too long for a command line",
                 .otherwise = "none"}),
          field(&O::mock_data, {.name = "mock-data",
                                .help = "train on random tokens instead of files, for a trial or "
                                        "a measurement"}),
          field(&O::split, {.name = "split",
                            .help = "weights of the training, validation and test part of each "
                                    "dataset of data-path",
                            .otherwise = "\"969, 30, 1\""}),
          field(&O::data_cache_path,
                {.name = "data-cache-path",
                 .help = "folder for the orders of samples: one process of a node makes each, "
                         "others and later runs map it",
                 .otherwise = "each process makes them in memory"}),
          field(&O::reset_position_ids,
                {.name = "reset-position-ids",
                 .help = "count positions from 0 again behind each end of a document"}),
          field(&O::reset_attention_mask, {.name = "reset-attention-mask",
                                           .help = "let a token attend to its own document only"}),
          field(&O::eod_mask_loss,
                {.name = "eod-mask-loss", .help = "no loss where the input token ends a document"}),
          field(&O::num_workers, {.name = "num-workers",
                                  .help = "that read batches ahead while a step runs; 0: a batch "
                                          "is read when it is needed",
                                  .unit = "threads",
                                  .range = between(0, 256)}),
      }};
  return table;
}

bool DataOptions::by_part() const {
  return !train_data_path.empty() || !valid_data_path.empty() || !test_data_path.empty();
}

bool DataOptions::named() const {
  return !data_path.empty() || by_part() || data_args_path || mock_data;
}

std::optional<Conflict> DataOptions::validate() const {
  Words places;
  if (!data_path.empty()) places.emplace_back("data-path");
  if (data_args_path) places.emplace_back("data-args-path");
  if (!train_data_path.empty()) places.emplace_back("train-data-path");
  if (train_data_path.empty() && !valid_data_path.empty()) places.emplace_back("valid-data-path");
  if (train_data_path.empty() && valid_data_path.empty() && !test_data_path.empty()) {
    places.emplace_back("test-data-path");
  }
  if (mock_data) places.emplace_back("mock-data");
  if (places.size() > 1) {
    return Conflict{.names = {places[1], places[0]},
                    .what = format("{} and {} are both given", places[0], places[1]),
                    .rule = "the data of a run come from one place",
                    .remedy = "leave one of them out"};
  }
  if (by_part() && train_data_path.empty()) {
    return Conflict{.names = {places[0]},
                    .what = format("{} without train-data-path", places[0]),
                    .rule = "each part that is read has its path, the training part first",
                    .remedy = "give train-data-path too, or data-path and split"};
  }
  if (split && (by_part() || mock_data)) {
    return Conflict{.names = {"split"},
                    .what = format("split has no effect with {}", places[0]),
                    .rule = "split cuts the datasets of data-path",
                    .remedy = "leave it out"};
  }
  if (data_cache_path && mock_data) {
    return Conflict{.names = {"data-cache-path"},
                    .what = "data-cache-path has no effect with mock-data",
                    .rule = "mock data have no order to keep",
                    .remedy = "leave it out"};
  }
  return std::nullopt;
}

}  // namespace trireme::config
