#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "config/groups/evaluate.h"
#include "data/batches.h"
#include "text/tokenizer.h"
#include "train/options.h"

namespace trireme::app {

/// Token files to evaluate on: samples [0, samples) of an order of their own, in which each sample
/// of the datasets comes once.
struct EvaluationData {
  std::shared_ptr<const data::Batches> batches;
  int64_t samples = 0;
  std::string name;     ///< "corpus_text_document, validation part"
  std::string content;  ///< lines in which other data differ (train/agreement.h)
};

/// Opens what the options name: whole datasets, a part of them, or a part of the run's own. Masks
/// and positions follow the run's rules.
/// length      s
/// vocabulary  V of the model
/// tokenizer   null: none; a rule of the run that needs its end-of-document token is a usage error
/// Usage error: the run has no data of its own; weighted datasets, which have no end, without
/// --limit.
[[nodiscard]] EvaluationData open_evaluation_data(const config::EvaluateOptions& options,
                                                  const train::TrainOptions& saved, int64_t length,
                                                  int64_t vocabulary,
                                                  const text::Tokenizer* tokenizer,
                                                  ThreadPool& pool);

}  // namespace trireme::app
