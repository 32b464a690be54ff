#pragma once
#include "config/groups/batch.h"
#include "config/groups/checkpoint.h"
#include "config/groups/communication.h"
#include "config/groups/data.h"
#include "config/groups/debug.h"
#include "config/groups/engine.h"
#include "config/groups/logging.h"
#include "config/groups/model.h"
#include "config/groups/optimizer.h"
#include "config/groups/parallel.h"
#include "config/groups/pipeline.h"
#include "config/groups/tokenizer.h"
#include "config/option_set.h"

// For the tests and the fuzz target of this room.

namespace trireme::config::testing {

/// The groups of the trainer together, as its subcommand adds them.
struct Trainer {
  ModelOptions model;
  BatchOptions batch;
  OptimizerOptions optimizer;
  ParallelOptions parallel;
  PipelineOptions pipeline;
  CommunicationOptions communication;
  EngineOptions engine;
  DataOptions data;
  TokenizerOptions tokenizer;
  CheckpointOptions checkpoint;
  LoggingOptions logging;
  DebugOptions debug;
  OptionSet options{"trireme train"};

  Trainer() {
    options.add(model);
    options.add(batch);
    options.add(optimizer);
    options.add(parallel);
    options.add(pipeline);
    options.add(communication);
    options.add(engine);
    options.add(data);
    options.add(tokenizer);
    options.add(checkpoint);
    options.add(logging);
    options.add(debug);
    options.replace(megatron::pretrain_gpt());
  }
};

}  // namespace trireme::config::testing
