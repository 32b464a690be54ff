#include "config/groups/all.h"

#include <array>

#include "config/groups/batch.h"
#include "config/groups/checkpoint.h"
#include "config/groups/common.h"
#include "config/groups/communication.h"
#include "config/groups/data.h"
#include "config/groups/debug.h"
#include "config/groups/engine.h"
#include "config/groups/evaluate.h"
#include "config/groups/generate.h"
#include "config/groups/logging.h"
#include "config/groups/model.h"
#include "config/groups/optimizer.h"
#include "config/groups/parallel.h"
#include "config/groups/pipeline.h"
#include "config/groups/preprocess.h"
#include "config/groups/tokenizer.h"
#include "config/groups/tokenizer_code.h"
#include "config/groups/tokenizer_encode.h"
#include "config/groups/tokenizer_train.h"

namespace trireme::config {

std::span<const Group* const> all_groups() {
  static const std::array kGroups = {
      &CommonOptions::group(),
      &ModelOptions::group(),
      &BatchOptions::group(),
      &OptimizerOptions::group(),
      &ParallelOptions::group(),
      &PipelineOptions::group(),
      &CommunicationOptions::group(),
      &EngineOptions::group(),
      &DataOptions::group(),
      &TokenizerOptions::group(),
      &CheckpointOptions::group(),
      &LoggingOptions::group(),
      &DebugOptions::group(),
      &EvaluateOptions::group(),
      &GenerateOptions::group(),
      &PreprocessOptions::group(),
      &TokenizerTrainOptions::group(),
      &TokenizerCodeOptions::group(),
      &TokenizerEncodeOptions::group(),
  };
  return kGroups;
}

}  // namespace trireme::config
