// A run file through the options of each kind of subcommand, so that every group takes part. What
// is accepted is the same when it is saved and read again.

#include <set>
#include <tuple>

#include "config/groups/all.h"
#include "config/groups/batch.h"
#include "config/groups/checkpoint.h"
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
#include "config/option_set.h"
#include "config/run_file.h"
#include "core/fuzz.h"

namespace {

using namespace trireme;
using namespace trireme::config;

// Structs of options with the set over them.
template <class... Structs>
struct Options {
  std::tuple<Structs...> structs = {};
  OptionSet set{"fuzz"};

  Options() {
    std::apply([&](auto&... each) { (set.add(each), ...); }, structs);
    set.replace(megatron::pretrain_gpt());
  }
};

std::set<const Group*> tried = {&CommonOptions::group()};

template <class... Structs>
void check(std::string_view toml) {
  Options<Structs...> read;
  (tried.insert(&Structs::group()), ...);
  if (!fuzz::accepted([&] { read.set.read_saved(toml, "fuzz"); })) return;
  const std::string saved = save_toml(read.set.views());
  Options<Structs...> again;
  fuzz::require(fuzz::accepted([&] { again.set.read_saved(saved, "saved"); }),
                "what was accepted is accepted again");
  fuzz::require(again.structs == read.structs, "saved and read again is equal");
  fuzz::require(save_toml(again.set.views()) == saved, "saved again it is the same text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view toml = fuzz::text_of(data, size);
  check<ModelOptions, BatchOptions, OptimizerOptions, ParallelOptions, PipelineOptions,
        CommunicationOptions, EngineOptions, DataOptions, TokenizerOptions, CheckpointOptions,
        LoggingOptions, DebugOptions>(toml);
  check<EvaluateOptions, TokenizerOptions, EngineOptions>(toml);
  check<GenerateOptions, TokenizerOptions, EngineOptions>(toml);
  check<PreprocessOptions, TokenizerOptions>(toml);
  check<TokenizerTrainOptions>(toml);
  check<TokenizerCodeOptions, TokenizerEncodeOptions, TokenizerOptions>(toml);
  fuzz::require(tried.size() == all_groups().size(), "every group takes part");
  return 0;
}
