#include "train/verify/tiny.h"

#include <algorithm>

namespace trireme::train {
namespace {

constexpr int64_t kHeadDim = 8;
constexpr int64_t kHeadsPerRank = 2;
constexpr int64_t kLength = 16;
constexpr int64_t kSequences = 2;
constexpr int64_t kWords = 67;  // no multiple of anything: some ranks have padding
constexpr int64_t kGranule = 8;
constexpr int64_t kBucket = 4096;

// As many parts of a whole as allowed; a whole that does not divide stays, for the rule that it
// breaks to say so.
int64_t fewer(int64_t whole, int64_t divisor, int64_t parts) {
  return whole % divisor == 0 ? divisor * std::min(whole / divisor, parts) : whole;
}

void shrink_width(config::ModelOptions& model, int64_t t) {
  const int64_t hidden = model.hidden_size;
  const int64_t ffn = model.ffn();
  if (hidden % model.num_attention_heads != 0 || ffn % t != 0) return;
  const int64_t head_dim = std::min(hidden / model.num_attention_heads, kHeadDim);
  model.num_attention_heads = fewer(model.num_attention_heads, t, kHeadsPerRank);
  model.hidden_size = head_dim * model.num_attention_heads;
  model.ffn_hidden_size = fewer(ffn, t, std::max<int64_t>(1, ffn * model.hidden_size / hidden / t));
}

void shrink_layers(TrainOptions& options, int64_t p) {
  config::PipelineOptions& pipeline = options.pipeline;
  int64_t& layers = options.model.num_layers;
  if (pipeline.pipeline_model_parallel_layout) return;  // it names the layers
  if (const auto each = pipeline.num_layers_per_virtual_pipeline_stage) {
    if (layers % (p * *each) != 0) return;
    layers /= *each;
    pipeline.num_layers_per_virtual_pipeline_stage = 1;
    return;
  }
  const int64_t stages = p * pipeline.num_virtual_stages_per_pipeline_rank.value_or(1);
  // One more than stages where they need not be equal; two where nothing is cut.
  const bool uneven = pipeline.balanced();
  if (stages == 1 || uneven) {
    layers = std::min(layers, stages + 1);
  } else {
    layers = fewer(layers, stages, 1);
  }
}

void shrink_batch(TrainOptions& options, const parallel::Topology& topology) {
  config::BatchOptions& batch = options.batch;
  const int64_t d = topology.data();
  const int64_t p = topology.pipeline();
  const int64_t whole = batch.global_batch_size.value_or(batch.micro_batch_size * d);
  if (whole % (batch.micro_batch_size * d) != 0) return;
  int64_t m = whole / (batch.micro_batch_size * d);
  const config::PipelineOptions& pipeline = options.pipeline;
  const bool bound =  // to its number of microbatches
      pipeline.schedule_file || pipeline.microbatch_group_size_per_virtual_pipeline_stage;
  if (!bound) m = m % p == 0 ? fewer(m, p, 2) : std::min(m, 2 * p + 1);
  batch.micro_batch_size = std::min(batch.micro_batch_size, kSequences);
  batch.global_batch_size = batch.micro_batch_size * m * d;
  batch.rampup_batch_size.clear();
  batch.step_batch_size_schedule.reset();
}

void shrink_words(TrainOptions& options) {
  config::DataOptions& data = options.data;
  if (!data.named()) data.mock_data = true;
  options.model.make_vocab_size_divisible_by =
      std::min(options.model.make_vocab_size_divisible_by, kGranule);
  // A rule about the end of a document needs the tokenizer's.
  const bool needs_words =
      data.reset_position_ids || data.reset_attention_mask || data.eod_mask_loss;
  if (!data.mock_data || needs_words) return;
  options.tokenizer = {};
  options.model.vocab_size = std::min(options.model.vocab_size.value_or(kWords), kWords);
}

}  // namespace

TrainOptions tiny_options(TrainOptions options, const parallel::Topology& topology) {
  config::ModelOptions& model = options.model;
  shrink_width(model, topology.tensor());
  shrink_layers(options, topology.pipeline());
  shrink_batch(options, topology);
  shrink_words(options);
  const bool more_positions = model.positions() > model.seq_length;
  model.seq_length = std::min(model.seq_length, kLength);
  model.max_position_embeddings.reset();
  if (more_positions) model.max_position_embeddings = model.seq_length + 3;
  options.communication.ddp_bucket_size = std::min(options.communication.ddp_bucket_size, kBucket);
  options.checkpoint.load.reset();
  return options;
}

}  // namespace trireme::train
