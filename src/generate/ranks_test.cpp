// One model, cut over ranks in every way: what must not change an answer, and what goes over the
// wire.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <mutex>

#include "comm/local/run.h"
#include "core/format.h"
#include "generate/test_model.h"

namespace trireme::generate {
namespace {

// How the model is cut, and what must not matter beside it.
struct Cut {
  int p = 1;
  int t = 1;
  model::DecodeShape decode = {.places = 4, .prompt_rows = {3, 16}};
  bool scatter_gather = false;
  std::optional<parallel::Layout> layout = {};
  int64_t granule = 4;  // of the vocabulary
  int threads = 1;

  [[nodiscard]] std::string text() const {
    return format("p {} t {}, {} places in {} groups{}, granule {}", p, t, decode.places,
                  decode.groups, scatter_gather ? ", scatter/gather" : "", granule);
  }
};

// Heads for 8 tensor ranks.
model::GptShape shape_of(const Cut& cut) {
  model::GptShape shape = test_shape();
  shape.layers = 4;
  shape.heads = 8;
  shape.ffn = 104;
  shape.vocabulary_granule = cut.granule;
  return shape;
}

struct RankOfModel {
  RankOfModel(comm::Port& port, const Cut& cut)
      : topology(cut.p, cut.t, 1),
        groups(port, topology),
        model({.shape = shape_of(cut),
               .topology = topology,
               .at = topology.coordinates(Rank{port.rank()}),
               .layout = cut.layout,
               .scatter_gather = cut.scatter_gather,
               .decode = cut.decode},
              groups.all(), cut.threads) {}

  parallel::Topology topology;
  engine::RankGroups groups;
  TestModel model;
};

// Runs body(rank of the model, its number) on all ranks of a cut.
template <class Body>
void on_all_ranks(const Cut& cut, Body body) {
  comm::run_ranks(
      {.ranks = cut.p * cut.t, .patience = {.limit = std::chrono::seconds(60), .crowded = true}},
      [&](comm::Port& port) {
        RankOfModel rank(port, cut);
        body(rank, port.rank());
      });
}

using Answers = std::vector<std::vector<int32_t>>;

// What all ranks are told.
Answers answers(const Cut& cut, const std::vector<Request>& requests, const Sampling& sampling,
                int64_t words = kWords) {
  std::vector<Answers> told(static_cast<size_t>(cut.p * cut.t));
  on_all_ranks(cut, [&](RankOfModel& rank, int number) {
    told[static_cast<size_t>(number)] = rank.model.answers(requests, sampling, words);
  });
  for (const Answers& one : told) EXPECT_EQ(one, told[0]) << cut.text();
  return told[0];
}

// Stages without a layer, and embedding and head alone in theirs.
parallel::Layout stages(std::vector<int> layers) {
  return {.pipeline = static_cast<int>(layers.size()), .layers_of = std::move(layers)};
}

const std::vector<Cut> kCuts = {
    {.p = 2},
    {.p = 4, .decode = {.places = 4, .groups = 4, .prompt_rows = {1}}},
    {.p = 8,
     .decode = {.places = 7, .groups = 3, .prompt_rows = {5}},
     .layout = stages({1, 0, 1, 0, 1, 1, 0, 0})},
    {.p = 3, .decode = {.places = 5, .groups = 2}, .layout = stages({0, 4, 0}), .threads = 2},
    {.t = 2},
    {.t = 4, .decode = {.places = 1}},
    {.t = 8, .decode = {.places = 3, .prompt_rows = {2}}},
    {.t = 2, .granule = 128},  // the second rank has padding alone
    {.p = 2, .t = 2, .decode = {.places = 4, .groups = 2}},
    {.p = 2, .t = 2, .decode = {.places = 5, .groups = 2}, .scatter_gather = true},
    {.p = 4, .t = 2, .decode = {.places = 9, .groups = 4}, .granule = 128},
    {.p = 2, .t = 4, .scatter_gather = true, .layout = stages({0, 4})},
};

TEST(GeneratorOnRanks, GivesTheAnswersOfOneRankForEveryCut) {
  const auto requests = many_requests();
  const std::array<Sampling, 2> samplings = {
      Sampling{.temperature = 0}, Sampling{.temperature = 0.8, .top_k = 20, .top_p = 0.9}};
  const std::array<Answers, 2> expected = {answers({}, requests, samplings[0]),
                                           answers({}, requests, samplings[1])};
  ASSERT_NE(expected[0], expected[1]);
  for (size_t i = 0; i < kCuts.size(); ++i)
    EXPECT_EQ(answers(kCuts[i], requests, samplings[i % 2]), expected[i % 2]) << kCuts[i].text();
}

TEST(GeneratorOnRanks, ChoosesWordsOnly) {
  const std::vector<Request> some(6, {.prompt = {5}, .count = 11});
  const auto chosen = answers({.p = 2, .t = 2}, some, {.temperature = 5}, 7);
  for (const auto& answer : chosen) {
    for (const int32_t token : answer) EXPECT_LT(token, 7);
  }
}

TEST(GeneratorOnRanks, EndsAnAnswerWhereAllRanksSaySo) {
  const std::vector<Request> five(5, {.prompt = {5}, .count = 30});
  const Cut cut = {.p = 2, .t = 2, .decode = {.places = 3, .groups = 2}};
  on_all_ranks(cut, [&](RankOfModel& rank, int) {
    Generator generator(*rank.model.session, {.temperature = 0}, kWords, rank.model.cpu.pool());
    std::vector<int> counts(5);
    const auto run = [&] {
      generator.run(five, [&](size_t request, int32_t) {
        return ++counts[request] < static_cast<int>(2 + 3 * request);
      });
    };
    run();
    EXPECT_EQ(counts, (std::vector<int>{2, 5, 8, 11, 14}));
    EXPECT_EQ(generator.work().answer_tokens, 2 + 5 + 8 + 11 + 14);
    // What is begun again finds everything in its place.
    counts.assign(5, 0);
    run();
    EXPECT_EQ(counts, (std::vector<int>{2, 5, 8, 11, 14}));
  });
}

// Logits behind each token of a prompt, in a place beside others; and bytes sent.
struct Decoded {
  std::vector<float> logits;
  std::array<comm::BytesSent, kRankGroups> sent;  // of all ranks, by group
  double tensor_bytes = 0;                        // as the programs say
  int64_t boundary_bytes = 0;                     // of one token of each place through a boundary
};

constexpr int kSteps = 9;
constexpr int kPrompts = 2;

Decoded decode(const Cut& cut) {
  Decoded decoded;
  std::mutex mutex;
  on_all_ranks(cut, [&](RankOfModel& rank, int) {
    engine::Session& session = *rank.model.session;
    const model::RunPlan& plan = session.plan();
    const auto places = static_cast<size_t>(plan.decode_shape.places);
    const bool is_last = plan.chunks[0].head;
    std::vector<float> logits(is_last ? places * kWords : 0);
    std::vector<float> all;
    using program::BatchField;
    const auto write = [&](size_t rows, int at) {
      std::vector<int32_t> tokens(rows);
      std::vector<int32_t> positions(rows, at);
      std::vector<int32_t> of(rows);
      for (size_t row = 0; row < rows; ++row) {
        tokens[row] = static_cast<int32_t>((static_cast<size_t>(at) * 7 + row * 5) % kWords);
        of[row] = static_cast<int32_t>(row);
      }
      session.write_field<int32_t>(BatchField::tokens, MicrobatchId{0}, tokens);
      session.write_field<int32_t>(BatchField::positions, MicrobatchId{0}, positions);
      session.write_field<int32_t>(BatchField::places, MicrobatchId{0}, of);
    };
    std::vector<int32_t> chosen(places);
    for (int at = 0; at < kPrompts; ++at) {
      write(places, at);
      session.read_prompt(0);
    }
    for (int at = kPrompts; at < kPrompts + kSteps; ++at) {
      write(places, at);
      session.decode(logits);
      all.insert(all.end(), logits.begin(), logits.end());
      for (size_t i = 0; i < places; ++i) chosen[i] = is_last ? static_cast<int32_t>(i) + at : -1;
      session.start_tokens(0, chosen);
      session.wait_tokens(0, chosen);
      for (size_t i = 0; i < places; ++i) EXPECT_EQ(chosen[i], static_cast<int32_t>(i) + at);
    }
    session.finish_messages();
    const std::lock_guard lock(mutex);
    if (is_last) {
      if (decoded.logits.empty()) decoded.logits = all;
      EXPECT_EQ(all, decoded.logits) << "tensor ranks choose from the same logits";
    }
    for (size_t g = 0; g < kRankGroups; ++g)
      decoded.sent[g] += rank.groups.all()[static_cast<RankGroup>(g)].bytes_sent();
    decoded.tensor_bytes += kSteps * program::totals(plan.decode->program).forward_wire_bytes +
                            kPrompts * program::totals(plan.prompts[0].program).forward_wire_bytes;
    decoded.boundary_bytes = static_cast<int64_t>(places) * plan.shape.hidden * 4;
  });
  return decoded;
}

// The rows of a prompt program and of decoding are alike here.
Cut cut_of_bytes(int p, int t, bool scatter_gather) {
  return {.p = p,
          .t = t,
          .decode = {.places = 3, .prompt_rows = {3}},
          .scatter_gather = scatter_gather};
}

TEST(DecodingOnRanks, HasTheBitsOfOneStageAndTheNumbersOfOneTensorRank) {
  const Decoded one = decode(cut_of_bytes(1, 1, false));
  ASSERT_EQ(one.logits.size(), static_cast<size_t>(kSteps * 3 * kWords));
  float largest = 0;
  for (const float logit : one.logits) largest = std::max(largest, std::abs(logit));
  ASSERT_GT(largest, 1);
  EXPECT_EQ(decode(cut_of_bytes(2, 1, false)).logits, one.logits);
  EXPECT_EQ(decode(cut_of_bytes(4, 1, false)).logits, one.logits);
  for (const int t : {2, 4}) {
    const Decoded whole = decode(cut_of_bytes(1, t, false));
    for (size_t i = 0; i < one.logits.size(); ++i)
      ASSERT_NEAR(whole.logits[i], one.logits[i], 1e-5 * largest) << i;
    for (const bool scatter_gather : {false, true})
      EXPECT_EQ(decode(cut_of_bytes(2, t, scatter_gather)).logits, whole.logits);
  }
}

TEST(DecodingOnRanks, SendsWhatTheProgramsSayTheBoundariesAndTheTokensAndNothingElse) {
  using comm::Traffic;
  for (const auto& [p, t, scatter_gather] :
       {std::tuple{1, 2, false}, {2, 1, false}, {4, 2, false}, {2, 4, false}, {2, 4, true}}) {
    const Cut cut = cut_of_bytes(p, t, scatter_gather);
    const Decoded decoded = decode(cut);
    std::array<comm::BytesSent, kRankGroups> expected = {};
    const int64_t through = (p - 1) * (kSteps + kPrompts) * decoded.boundary_bytes;
    comm::BytesSent& tensor = expected[static_cast<size_t>(RankGroup::tensor)];
    comm::BytesSent& pipeline = expected[static_cast<size_t>(RankGroup::pipeline)];
    tensor[Traffic::activation] = std::llround(decoded.tensor_bytes);
    // In parts, which the receivers gather; otherwise each tensor rank sends all.
    pipeline[Traffic::activation] = scatter_gather ? through : t * through;
    if (scatter_gather) tensor[Traffic::activation] += (t - 1) * through;
    pipeline[Traffic::token] = int64_t{t} * (p - 1) * kSteps * 3 * 4;
    for (size_t g = 0; g < kRankGroups; ++g) {
      for (size_t kind = 0; kind < comm::kTraffics; ++kind)
        EXPECT_EQ(decoded.sent[g].of[kind], expected[g].of[kind])
            << cut.text() << ", " << name_of(static_cast<RankGroup>(g)) << ", "
            << program::name_of(static_cast<Traffic>(kind));
    }
  }
}

TEST(DecodingPlan, CountsLogitsWithoutPaddingAndTokens) {
  const auto decoded = [](const Cut& cut, int rank) {
    const parallel::Topology topology(cut.p, cut.t, 1);
    model::DecodeShape decode = cut.decode;
    decode.capacity = kPositions;
    return model::plan_run({.shape = shape_of(cut),
                            .topology = topology,
                            .at = topology.coordinates(Rank{rank}),
                            .train = false,
                            .decode = decode})
        .memory[model::ArenaKind::decoded];
  };
  const auto aligned = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  const int64_t logits = aligned(int64_t{2} * kWords * 4);
  const Cut cut = {.p = 2, .t = 2, .decode = {.places = 4, .groups = 2}};
  EXPECT_EQ(decoded(cut, 0), 2 * 64);
  EXPECT_EQ(decoded(cut, 3), logits + 2 * 64);
}

}  // namespace
}  // namespace trireme::generate
