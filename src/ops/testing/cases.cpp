#include "core/format.h"
#include "ops/testing/case.h"

namespace trireme::ops::testing {
namespace {

constexpr double kProbabilities[] = {0, 0.1, 0.5};

// Builds the list: one function per family, each takes sizes and adds what is tried with them.
class Cases {
 public:
  void embedding(int64_t tokens, int64_t hidden, int64_t rows, int64_t first_row, int64_t words) {
    const std::string sizes =
        format("{} tokens, h {}, rows {} from {} of {}", tokens, hidden, rows, first_row, words);
    add(
        program::EmbeddingLookup{
            .tokens = tokens, .hidden = hidden, .rows = rows, .first_row = first_row},
        sizes, {.id_limit = words});
    add_both_ways(
        program::EmbeddingGradient{
            .tokens = tokens, .hidden = hidden, .rows = rows, .first_row = first_row},
        sizes, {.id_limit = words});
  }

  void position(int64_t length, int64_t sequences, int64_t hidden, int64_t rows, double p) {
    const std::string sizes =
        format("s {} b {} h {}, {} rows, p {}", length, sequences, hidden, rows, p);
    add(program::PositionDropout{.length = length,
                                 .sequences = sequences,
                                 .hidden = hidden,
                                 .rows = rows,
                                 .dropout = {.site = RandomSite::embedding_dropout,
                                             .probability = p}},
        sizes, {.id_limit = rows});
    if (p > 0) return;
    add_both_ways(
        program::PositionGradient{.tokens = length * sequences, .hidden = hidden, .rows = rows},
        sizes, {.id_limit = rows});
  }

  void layer_norm(int64_t rows, int64_t columns) {
    const std::string sizes = format("{} x {}", rows, columns);
    add(program::LayerNorm{.rows = rows, .columns = columns}, sizes);
    add(program::LayerNormOutput{.rows = rows, .columns = columns}, sizes);
    const program::LayerNormBackward backward{.rows = rows, .columns = columns};
    add(backward, sizes);
    add(backward, sizes + " in place",
        {.in_place = Case::InPlace{backward.kDresidual, backward.kDx}});
    add(program::LayerNormBackward{.rows = rows, .columns = columns, .residual = false},
        sizes + " without residual");
    add_both_ways(program::LayerNormGradient{.rows = rows, .columns = columns}, sizes);
  }

  void product(int64_t rows, int64_t in, int64_t out, bool bias) {
    const std::string sizes = format("{} x {} x {}{}", rows, in, out, bias ? " with bias" : "");
    add(program::Product{.rows = rows, .in = in, .out = out, .bias = bias}, sizes);
    if (bias) return;
    add(program::ProductInputGradient{.rows = rows, .in = in, .out = out}, sizes);
    add_both_ways(program::ProductWeightGradient{.rows = rows, .in = in, .out = out}, sizes);
  }

  void bias_gradient(int64_t rows, int64_t columns) {
    add_both_ways(program::BiasGradient{.rows = rows, .columns = columns},
                  format("{} x {}", rows, columns));
  }

  void gelu(int64_t rows, int64_t columns) {
    const std::string sizes = format("{} x {}", rows, columns);
    const program::BiasGelu forward{.rows = rows, .columns = columns};
    add(forward, sizes);
    add(forward, sizes + " in place", {.in_place = Case::InPlace{forward.kX, forward.kY}});
    const program::BiasGeluBackward backward{.rows = rows, .columns = columns};
    add(backward, sizes);
    add(backward, sizes + " in place", {.in_place = Case::InPlace{backward.kDy, backward.kDx}});
  }

  void dropout(int64_t length, int64_t sequences, int64_t hidden, double p) {
    const std::string sizes = format("s {} b {} h {}, p {}", length, sequences, hidden, p);
    add(program::BiasDropoutAdd{.length = length,
                                .sequences = sequences,
                                .hidden = hidden,
                                .dropout = {.site = RandomSite::projection_dropout,
                                            .probability = p}},
        sizes, {.layer = 5});
    add(program::DropoutBackward{.length = length,
                                 .sequences = sequences,
                                 .hidden = hidden,
                                 .dropout = {.site = RandomSite::mlp_dropout, .probability = p}},
        sizes, {.layer = 5});
  }

  void whole_buffers(int64_t elements) {
    add(program::AddInto{.elements = elements}, format("{}", elements));
    add(program::Copy{.elements = elements}, format("{}", elements));
  }

  void attention(int64_t length, int64_t sequences, int64_t heads, int64_t head_dim, double p,
                 bool documents) {
    const program::AttentionSizes op{
        .length = length,
        .sequences = sequences,
        .heads = heads,
        .first_head = 3,
        .head_dim = head_dim,
        .dropout = {.site = RandomSite::attention_dropout, .probability = p}};
    const std::string sizes = format("s {} b {} heads {} of {}, p {}{}", length, sequences, heads,
                                     head_dim, p, documents ? ", documents" : "");
    add(program::Attention{op}, sizes, {.documents = documents, .layer = 2});
    add(program::AttentionBackward{op}, sizes, {.documents = documents, .layer = 2});
  }

  void attention_products(int64_t length, int64_t sequences, int64_t heads, int64_t head_dim) {
    const auto op = stored(length, sequences, heads, head_dim, 0);
    const std::string sizes =
        format("s {} b {} heads {} of {}", length, sequences, heads, head_dim);
    add(program::AttentionScores{op}, sizes);
    add(program::AttentionScoresBackward{op}, sizes);
    add(program::AttentionContext{op}, sizes);
    add(program::AttentionContextBackward{op}, sizes);
  }

  // Backward knows no documents.
  void softmax(int64_t length, int64_t sequences, int64_t heads, double p, bool documents) {
    const auto op = stored(length, sequences, heads, 16, p);
    const std::string sizes = format("s {} b {} heads {}, p {}{}", length, sequences, heads, p,
                                     documents ? ", documents" : "");
    const auto add_both_places = [&](const program::OpSpec& spec, Case::InPlace place) {
      add(spec, sizes, {.documents = documents, .layer = 2});
      add(spec, sizes + " in place", {.documents = documents, .in_place = place, .layer = 2});
    };
    const program::ScaleMaskSoftmax forward{op, documents};
    add_both_places(forward, {forward.kScores, forward.kProbabilities});
    if (documents) return;
    const program::ScaleMaskSoftmaxBackward backward{op};
    add_both_places(backward, {backward.kDkept, backward.kDscores});
  }

  void decode(int64_t rows, int64_t places, int64_t heads, int64_t head_dim, int64_t capacity) {
    add(program::AttentionDecode{.rows = rows,
                                 .places = places,
                                 .heads = heads,
                                 .head_dim = head_dim,
                                 .capacity = capacity},
        format("{} rows in {} places, heads {} of {}, capacity {}", rows, places, heads, head_dim,
               capacity),
        {.id_limit = capacity});
  }

  void cross_entropy(int64_t rows, int64_t columns, int64_t counted, int64_t first_row,
                     int64_t words) {
    const program::VocabSizes op{
        .rows = rows, .columns = columns, .counted = counted, .first_row = first_row};
    const std::string sizes = format("{} rows, {} words from {} of {} in {} columns", rows, counted,
                                     first_row, words, columns);
    add(program::LogitMaximum{op}, sizes);
    add(program::LogitSum{op}, sizes, {.id_limit = words});
    add(program::CrossEntropy{op}, sizes, {.id_limit = words});
    add(program::CrossEntropy{op, false}, sizes + " without gradient", {.id_limit = words});
  }

  void loss_total(int64_t rows) { add(program::LossTotal{.rows = rows}, format("{}", rows)); }

  void square_sums(int64_t elements, int64_t first_block, int64_t blocks) {
    add(program::SquareSums{.elements = elements, .first_block = first_block, .blocks = blocks},
        format("{} from block {} of {}", elements, first_block, blocks));
  }

  void clip(int64_t blocks, double limit) {
    add(program::ClipFactor{.blocks = blocks, .clip = limit},
        format("{} blocks, clip {}", blocks, limit));
  }

  void adamw(int64_t elements, double decay) {
    add(program::AdamW{.elements = elements, .beta2 = 0.95, .decay = decay},
        format("{}, decay {}", elements, decay));
  }

  std::vector<Case> take() { return std::move(cases_); }

 private:
  static program::StoredAttentionSizes stored(int64_t length, int64_t sequences, int64_t heads,
                                              int64_t head_dim, double p) {
    program::StoredAttentionSizes op;
    op.length = length;
    op.sequences = sequences;
    op.heads = heads;
    op.first_head = 3;
    op.head_dim = head_dim;
    op.dropout = {.site = RandomSite::attention_dropout, .probability = p};
    return op;
  }
  void add(const program::OpSpec& op, const std::string& detail, Case c = {}) {
    c.name = format("{} {}", program::name_of(op), detail);
    c.op = op;
    cases_.push_back(std::move(c));
  }
  // Overwriting and accumulating.
  void add_both_ways(const program::OpSpec& op, const std::string& detail, Case c = {}) {
    add(op, detail, c);
    c.accumulate = true;
    add(op, detail + " accumulated", c);
  }

  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> cases_for_tests() {
  Cases cases;
  cases.embedding(1, 1, 3, 0, 3);
  cases.embedding(37, 33, 11, 0, 9);     // repeated ids, two rows of padding
  cases.embedding(150, 64, 40, 40, 77);  // the last of two shards
  cases.embedding(20, 768, 50, 0, 100);  // the first of two
  for (const double p : kProbabilities) {
    cases.position(1, 1, 5, 2, p);
    cases.position(9, 3, 33, 12, p);
    cases.position(70, 2, 64, 128, p);
    cases.dropout(1, 1, 1, p);
    cases.dropout(7, 3, 17, p);
    cases.dropout(65, 2, 66, p);
    cases.dropout(16, 4, 768, p);
    cases.attention(1, 1, 1, 16, p, false);
    cases.attention(5, 2, 1, 6, p, true);
    cases.attention(33, 2, 3, 16, p, true);
    cases.attention(64, 1, 2, 64, p, false);
    cases.attention(131, 2, 2, 80, p, true);
    cases.attention(403, 1, 1, 8, p, false);
    cases.attention(403, 1, 1, 8, p, true);
    for (const bool documents : {false, true}) {
      cases.softmax(1, 1, 1, p, documents);
      cases.softmax(5, 2, 1, p, documents);
      cases.softmax(33, 2, 3, p, documents);
      cases.softmax(131, 2, 2, p, documents);
    }
  }
  cases.attention_products(1, 1, 1, 16);
  cases.attention_products(5, 2, 1, 6);
  cases.attention_products(33, 2, 3, 16);
  cases.attention_products(64, 1, 2, 64);
  cases.attention_products(131, 2, 2, 80);
  cases.attention_products(403, 1, 1, 8);
  for (const int64_t columns : {1, 5, 16, 65, 768, 1000}) {
    cases.layer_norm(1, columns);
    cases.layer_norm(67, columns);
    cases.bias_gradient(1, columns);
    cases.bias_gradient(67, columns);
    cases.gelu(1, columns);
    cases.gelu(7, columns);
  }
  cases.layer_norm(200, 48);
  cases.bias_gradient(200, 48);
  for (const bool bias : {false, true}) {
    cases.product(1, 1, 1, bias);
    cases.product(1, 70, 33, bias);
    cases.product(13, 5, 129, bias);
    cases.product(64, 64, 64, bias);
    cases.product(130, 96, 70, bias);
    cases.product(40, 515, 17, bias);
  }
  for (const int64_t elements : {1, 7, 64, 1003}) {
    cases.whole_buffers(elements);
    cases.adamw(elements, 0);
    cases.adamw(elements, 0.1);
    cases.loss_total(elements);
  }
  cases.decode(1, 1, 1, 16, 1);
  cases.decode(3, 3, 2, 64, 37);
  cases.decode(29, 2, 3, 80, 130);
  cases.cross_entropy(1, 1, 1, 0, 1);
  cases.cross_entropy(6, 17, 17, 0, 17);
  cases.cross_entropy(33, 128, 101, 0, 101);  // padding
  cases.cross_entropy(9, 64, 64, 0, 101);     // the first of two shards
  cases.cross_entropy(9, 64, 37, 64, 101);    // the second, with padding
  cases.cross_entropy(5, 16, 0, 112, 101);    // a shard of padding alone
  cases.cross_entropy(40, 64, 50, 0, 101);    // labels that would be in this shard's padding
  cases.cross_entropy(4, 3000, 2999, 0, 2999);
  cases.square_sums(1, 0, 1);
  cases.square_sums(100, 2, 4);
  cases.square_sums(program::kNormBlock, 1, 2);
  cases.square_sums(2 * program::kNormBlock + 77, 1, 5);
  for (const double clip : {0.0, 1.0, 1000.0}) {
    cases.clip(1, clip);
    cases.clip(41, clip);
  }
  return cases.take();
}

// GPT-2 124M: s b = 1024, h 768, 12 heads of 64, 50257 words in 50304 rows.
std::vector<Case> cases_for_bench() {
  constexpr int64_t kLength = 256;
  constexpr int64_t kSequences = 4;
  constexpr int64_t kTokens = kLength * kSequences;
  constexpr int64_t kHidden = 768;
  constexpr int64_t kWords = 50257;
  constexpr int64_t kRows = 50304;
  Cases cases;
  cases.embedding(kTokens, kHidden, kRows, 0, kWords);
  cases.position(kLength, kSequences, kHidden, 1024, 0);
  cases.position(kLength, kSequences, kHidden, 1024, 0.1);
  cases.layer_norm(kTokens, kHidden);
  cases.product(kTokens, kHidden, 3 * kHidden, true);
  cases.product(kTokens, kHidden, 3 * kHidden, false);
  cases.product(kTokens, kHidden, kHidden, false);
  cases.product(kTokens, kHidden, 4 * kHidden, false);
  cases.product(kTokens, 4 * kHidden, kHidden, false);
  cases.product(kTokens, kHidden, kRows, false);
  cases.bias_gradient(kTokens, kHidden);
  cases.bias_gradient(kTokens, 3 * kHidden);
  cases.bias_gradient(kTokens, 4 * kHidden);
  cases.gelu(kTokens, 4 * kHidden);
  for (const double p : {0.0, 0.1}) {
    cases.dropout(kLength, kSequences, kHidden, p);
    cases.attention(kLength, kSequences, 12, 64, p, false);
    cases.softmax(kLength, kSequences, 12, p, false);
  }
  cases.attention_products(kLength, kSequences, 12, 64);
  for (const int64_t heads : {1, 2, 3, 12}) cases.attention(1024, 1, heads, 64, 0, false);
  cases.decode(kSequences, kSequences, 12, 64, 1024);
  cases.decode(64, 1, 12, 64, 1024);
  cases.cross_entropy(kTokens, kRows, kWords, 0, kWords);
  cases.loss_total(kTokens);
  cases.square_sums(kRows * kHidden, 0, program::norm_blocks(kRows * kHidden));
  cases.clip(2000, 1);
  cases.whole_buffers(kRows * kHidden);
  cases.adamw(4 * kHidden * kHidden, 0.1);
  return cases.take();
}

}  // namespace trireme::ops::testing
