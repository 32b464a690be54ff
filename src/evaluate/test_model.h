#pragma once
// What the tests of this room share: a small GPT with weights out of a generator, the tokenizer of
// the text room's tests, and what the model says of a few tokens, asked for one passage at a time.

#include <gtest/gtest.h>

#include "comm/local/solo.h"
#include "data/batches.h"
#include "device/cpu/cpu_device.h"
#include "engine/batch_fields.h"
#include "engine/groups.h"
#include "engine/initialise.h"
#include "evaluate/scorer.h"
#include "text/tokenizer.h"

namespace trireme::evaluate {

inline constexpr int64_t kWords = 400;
inline constexpr int64_t kPositions = 160;

inline const text::Tokenizer& tokenizer() {
  static const Path folder = Path(TRIREME_SOURCE_DIR) / "src" / "text" / "testdata" / "small";
  static const text::Tokenizer read =
      text::Tokenizer::load(folder / "vocab.json", folder / "merges.txt");
  return read;
}

class TestModel {
 public:
  /// favourite: a token that the model likes everywhere; -1: none
  explicit TestModel(int32_t favourite = -1) : favourite_(favourite) {}
  /// One rank of a model that is cut.
  TestModel(comm::Port& port, const parallel::Topology& topology)
      : topology_(topology), at_(topology.coordinates(Rank{port.rank()})) {
    groups_.emplace(port, topology);
    team_ = Team(topology, at_, port.world(), *stream_);
  }

  /// The ranks of the model.
  [[nodiscard]] const Team& team() const { return team_; }

  OpenSession open() {
    return [this](int64_t length, int64_t b) { return session(length, b); };
  }

  std::unique_ptr<engine::Session> session(int64_t length, int64_t b) {
    ++opened;
    auto session = std::make_unique<engine::Session>(
        model::plan_run({.shape = {.layers = 4,
                                   .hidden = 32,
                                   .heads = 4,
                                   .ffn = 64,
                                   .length = length,
                                   .positions = kPositions,
                                   .vocabulary = kWords,
                                   .vocabulary_granule = 4,
                                   .init_deviation = 0.3},
                         .batch = {.sequences = b},
                         .topology = topology_,
                         .at = at_,
                         .scatter_gather = scatter_gather,
                         .train = false,
                         .evaluate = true}),
        ops::Backend{.device = &cpu_, .kernels = &ops::cpu_kernels()},
        groups_ ? groups_->all() : engine::Groups(solo_));
    const model::RunPlan& plan = session->plan();
    for (int i = 0; i < plan.table.size(); ++i) {
      const TensorId id{i};
      if (!plan.local.holds(id) || plan.local[id].alias) continue;
      std::vector<float> values(static_cast<size_t>(session->slice_elements(id)));
      engine::initial_values(plan.table[id], plan.local[id].slice, 7, cpu_.pool(), values);
      session->write_tensor(id, engine::TensorState::parameter, values);
    }
    if (favourite_ >= 0) favour(*session);
    return session;
  }

  /// Nats of each token of a text but the first, from all tokens in front of it: a session of just
  /// that length, one sequence, nothing masked. greedy: whether no token is likelier.
  struct Direct {
    std::vector<float> losses;
    std::vector<bool> greedy;
  };
  Direct direct(std::span<const int32_t> tokens) {
    const auto s = static_cast<int64_t>(tokens.size()) - 1;
    const auto n = static_cast<size_t>(s);
    const auto session = this->session(s, 1);
    data::BatchFields fields;
    fields.resize(s, 1);
    std::copy_n(tokens.begin(), n, fields.tokens.begin());
    std::copy_n(tokens.begin() + 1, n, fields.labels.begin());
    std::fill(fields.loss_mask.begin(), fields.loss_mask.end(), 1.0F);
    std::fill(fields.segment_starts.begin(), fields.segment_starts.end(), 0);
    for (size_t i = 0; i < n; ++i) fields.positions[i] = static_cast<int32_t>(i);
    fields.sample_positions[0] = 0;
    engine::write_fields(*session, MicrobatchId{0}, fields);
    session->run({});
    Direct direct = {.losses = std::vector<float>(n)};
    std::vector<float> target(n);
    session->read_losses(direct.losses);
    session->read_target(target);
    for (const float t : target) direct.greedy.push_back(t == 0);
    return direct;
  }

  int opened = 0;
  bool scatter_gather = false;

 private:
  // A bias in front of the head along the token's row.
  void favour(engine::Session& session) const {
    const auto& table = session.plan().table;
    const TensorId words = *table.find("embedding.word_embeddings.weight");
    const TensorId bias = *table.find("decoder.final_layernorm.bias");
    std::vector<float> rows(static_cast<size_t>(session.slice_elements(words)));
    session.read_tensor(words, engine::TensorState::parameter, rows);
    const auto row = std::span(rows).subspan(static_cast<size_t>(favourite_) * 32, 32);
    std::vector<float> values(row.begin(), row.end());
    for (float& value : values) value *= 3;
    session.write_tensor(bias, engine::TensorState::parameter, values);
  }

  int32_t favourite_ = -1;
  parallel::Topology topology_;
  parallel::Coordinates at_;
  device::CpuDevice cpu_{1};
  std::unique_ptr<device::Stream> stream_ = cpu_.make_stream();
  comm::SoloCommunicator solo_;
  std::optional<engine::RankGroups> groups_;
  Team team_;
};

/// Tokens with no order in them.
inline std::vector<int32_t> some_tokens(size_t count, uint32_t state) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    tokens.push_back(static_cast<int32_t>((state >> 16) % kWords));
  }
  return tokens;
}

}  // namespace trireme::evaluate
