// trireme program: what one model chunk does, as text.

#include "app/commands.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "program/print.h"
#include "train/options.h"

namespace trireme::app {
namespace {

enum class ProgramKind { train, evaluate, decode, prompt, step };

struct ProgramOptions {
  config::ModelOptions model;
  config::ParallelOptions parallel;
  int64_t micro_batch_size = 1;
  int64_t pipeline_rank = 0;
  ProgramKind kind = ProgramKind::train;

  static const config::Group& group() {
    using O = ProgramOptions;
    static const config::Group table = {
        "Program",
        "which program is printed",
        {config::field(&O::kind,
                       {.name = "kind",
                        .help = "program of a training or validation microbatch, of "
                                "decoding a token, of reading a prompt's tokens, or of the "
                                "optimizer step",
                        .words = {"train", "evaluate", "decode", "prompt", "step"}}),
         config::field(&O::micro_batch_size, {.name = "micro-batch-size",
                                              .help = "microbatch, b",
                                              .unit = "sequences",
                                              .range = config::at_least(1)}),
         config::field(&O::pipeline_rank,
                       {.name = "pipeline-rank",
                        .help = "place in the pipeline of the rank whose program is printed",
                        .range = config::at_least(0)})}};
    return table;
  }
};

void declare(ProgramOptions& options, config::OptionSet& set) {
  set.add(options);
  set.add(options.model);
  set.add(options.parallel);
}

int run(const ProgramOptions& options, const config::OptionSet& /*set*/) {
  if (!options.model.vocab_size) {
    fail_usage({.where = "--vocab-size",
                .what = "not given",
                .rule = "the program's sizes depend on the vocabulary",
                .remedy = "give --vocab-size, 50257 for GPT-2"});
  }
  const parallel::Topology topology(static_cast<int>(options.parallel.pipeline_model_parallel_size),
                                    static_cast<int>(options.parallel.tensor_model_parallel_size),
                                    1);
  if (options.pipeline_rank >= topology.pipeline()) {
    fail_usage({.where = "--pipeline-rank",
                .what = format("{} of {} stages", options.pipeline_rank, topology.pipeline()),
                .rule = "ranks count from 0"});
  }
  const model::RunPlan plan = model::plan_run(
      {.shape = train::gpt_shape(options.model, *options.model.vocab_size),
       .batch = {.sequences = options.micro_batch_size, .documents = false},
       .topology = topology,
       .at = {.pipeline = static_cast<int>(options.pipeline_rank)},
       .evaluate = true,
       .decode = {.capacity = options.model.positions(), .places = options.micro_batch_size}});
  const model::PlacedProgram& placed = options.kind == ProgramKind::train ? plan.train.front()
                                       : options.kind == ProgramKind::evaluate
                                           ? plan.evaluate.front()
                                       : options.kind == ProgramKind::decode ? *plan.decode
                                       : options.kind == ProgramKind::prompt ? plan.prompts.back()
                                                                             : *plan.step;
  say(program::print(placed.program, placed.slots));
  return 0;
}

}  // namespace

Command program_command() {
  return make_command<ProgramOptions>(
      {.name = "program",
       .summary = "print the program of a model chunk",
       .about = "Prints what one rank does for one microbatch: every block of the model with its "
                "values, its forward and "
                "backward ops, their FLOPs, bytes, collectives and places in memory. Any parallel "
                "size can be looked at. An "
                "op marked I makes an input gradient, W a weight gradient; (+)= writes on the "
                "first microbatch and adds on the others; <- updates in place.",
       .examples =
           "trireme program --num-layers 12 --hidden-size 768 --num-attention-heads 12 "
           "--seq-length 1024 --vocab-size "
           "50257 --micro-batch-size 4\n"
           "trireme program --num-layers 96 --hidden-size 12288 --num-attention-heads 96 "
           "--seq-length 2048 "
           "--vocab-size 51200 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 8"},
      declare, run);
}

}  // namespace trireme::app
