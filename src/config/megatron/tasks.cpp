#include "config/megatron/sections.h"

namespace trireme::config::megatron {

// What a launch script of the zero-shot tasks of a GPT says, without what is for training and for
// other models.
const Script& tasks() {
  static const Script script = [] {
    Section task = {.title = "Task"};
    refused(task, Takes::one, {"task"}, "the option that names a file says what is done with it",
            "use --text for WIKITEXT103, --lambada for LAMBADA");
    refused(task, Takes::several, {"valid-data"},
            "the option that names a file says what is done with it",
            "use --text or --lambada with the file; --text takes it as it is, without undoing "
            "WikiText's tokenization");
    same(task, {"overlapping-eval"});
    always(task, {"strict-lambada"}, "the whole last word is to be predicted, not its last token");

    Section model = {.title = "Model and data"};
    same(model, {"load", "ckpt-step", "seq-length", "micro-batch-size", "vocab-file", "merge-file",
                 "tokenizer-model", "tensor-model-parallel-size", "pipeline-model-parallel-size"});
    always_at(model, "tokenizer-type", {"GPT2BPETokenizer", "HuggingFaceTokenizer"},
              "tokenizers are byte-level BPE");
    refused(model, Takes::one,
            {"num-layers", "hidden-size", "num-attention-heads", "max-position-embeddings",
             "ffn-hidden-size"},
            "the checkpoint says what the model is", kLeaveOut);
    always_any(model, {"log-interval"}, "progress is shown by time");
    always(model, {"no-load-optim", "no-load-rng", "use-checkpoint-args"},
           "the weights are read and the model's options");
    refused(model, Takes::nothing, {"fp16", "bf16"}, "this version computes in fp32", kLeaveOut);
    return Script{"tasks/main.py", {task, model}};
  }();
  return script;
}

}  // namespace trireme::config::megatron
