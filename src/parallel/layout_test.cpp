#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "parallel/stages.h"

namespace trireme::parallel {
namespace {

std::string refusal(std::string_view text, int layers, int p) {
  try {
    return "accepted " + parse_layout(text, layers, p).text();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::usage);
    return error.what();
  }
}

// Over all ranks: each layer once in the order of the stages, embedding and head once at the ends.
void expect_whole(const Layout& layout, int layers) {
  std::vector<int> holder(static_cast<size_t>(layers), -1);
  int embeddings = 0;
  int heads = 0;
  for (int rank = 0; rank < layout.pipeline; ++rank) {
    const std::vector<Chunk> chunks = layout.chunks(rank);
    EXPECT_EQ(static_cast<int>(chunks.size()), layout.chunks_per_rank());
    for (const Chunk& chunk : chunks) {
      EXPECT_EQ(chunk.stage.value, chunk.chunk.value * layout.pipeline + rank);
      for (int l = chunk.first_layer; l < chunk.first_layer + chunk.layers; ++l) {
        EXPECT_EQ(holder.at(static_cast<size_t>(l)), -1);
        holder[static_cast<size_t>(l)] = chunk.stage.value;
      }
      embeddings += chunk.embedding ? 1 : 0;
      heads += chunk.head ? 1 : 0;
    }
  }
  EXPECT_TRUE(std::is_sorted(holder.begin(), holder.end()));
  EXPECT_GE(holder.front(), 0);
  EXPECT_EQ(embeddings, 1);
  EXPECT_EQ(heads, 1);
  EXPECT_TRUE(layout.chunks(0).front().embedding);
  EXPECT_TRUE(layout.chunks(layout.pipeline - 1).back().head);
}

TEST(EqualLayout, PlacesEveryLayerOnceInStageOrder) {
  for (const auto& [layers, p, v] : {std::tuple{16, 4, 2}, {12, 1, 1}, {12, 3, 4}, {8, 8, 1}})
    expect_whole(equal_layout(layers, p, v), layers);
}

TEST(EqualLayout, FollowsThePapersExampleOfInterleaving) {
  // 4 layers a device, v = 2, p = 4: device 0 has layers 1, 2, 9, 10 counted from one
  const auto chunks = equal_layout(16, 4, 2).chunks(0);
  EXPECT_EQ(chunks[0].first_layer, 0);
  EXPECT_EQ(chunks[1].first_layer, 8);
  EXPECT_EQ(chunks[1].layers, 2);
}

TEST(EqualLayout, RefusesAnUnevenSplitWithTheNearestCounts) {
  try {
    static_cast<void>(equal_layout(30, 8, 1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("use 24 or 32 layers"), std::string::npos)
        << error.what();
  }
}

TEST(ChunksFor, FollowFromTheLayersOfAVirtualStage) {
  EXPECT_EQ(chunks_for(96, 12, 2), 4);
  EXPECT_EQ(chunks_for(96, 12, 8), 1);
  try {
    static_cast<void>(chunks_for(96, 12, 3));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("use --num-layers-per-virtual-pipeline-stage 1, 2, 4 or 8"),
        std::string::npos)
        << error.what();
  }
  EXPECT_THROW(static_cast<void>(chunks_for(10, 4, 1)), Error);
}

TEST(ParseLayout, ReadsMegatronLMsForm) {
  const Layout layout = parse_layout("Et*3|(tt|)*4,t t L", 13, 3);
  EXPECT_EQ(layout.layers_of, (std::vector<int>{3, 2, 2, 2, 2, 2}));
  EXPECT_EQ(layout.chunks_per_rank(), 2);
  expect_whole(layout, 13);
  EXPECT_EQ(parse_layout("E||t|L", 1, 4).layers_of, (std::vector<int>{0, 0, 1, 0}));
  EXPECT_EQ(parse_layout("E((t|)*2t)*2|L", 6, 6).layers_of, (std::vector<int>{1, 1, 2, 1, 1, 0}));
  EXPECT_EQ(parse_layout("(E)tL", 1, 1).layers_of, (std::vector<int>{1}));
}

TEST(ParseLayout, IsTheInverseOfText) {
  for (const Layout& layout :
       {equal_layout(96, 8, 3), Layout{.pipeline = 2, .layers_of = {0, 1, 2, 3, 4, 0}}}) {
    EXPECT_EQ(parse_layout(layout.text(), layout.layers(), layout.pipeline), layout)
        << layout.text();
  }
  EXPECT_EQ((Layout{.pipeline = 2, .layers_of = {2, 3, 1, 0}}.text()), "Ett|t*3|t|L");
}

TEST(ParseLayout, RefusesWhatIsNotTheModelWithTheRule) {
  const auto says = [](std::string_view text, int layers, int p, std::string_view words) {
    const std::string said = refusal(text, layers, p);
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  says("Ett|ttL", 6, 2, "4 of 6 layers placed");
  says("Ett|ttL", 4, 3, "2 stages for 3 pipeline ranks");
  says("Et|tL|", 2, 3, "head and loss (L) are not last");
  says("tE|tL", 2, 2, "the embedding (E) is not first");
  // With the nearest text that can be: of the model's layers, the missing ones late, where fewest
  // are, and those too many gone where most are.
  says("Ett|ttL", 6, 2, "write it like Et*3|t*3L");
  says("Et|tt|ttL", 6, 3, "write it like Ett|tt|ttL");
  says("Et*4|t|tL", 5, 3, "write it like Et*3|t|tL");
  says("Et|tL|", 2, 3, "write it like Et|t|L");
  says("tE|tL", 2, 2, "write it like Et|tL");
  says("t|t", 4, 2, "write it like Ett|ttL");
  says("", 1, 1, "write it like EtL");
  says("Ett|ttL", 4, 3, "make 3 of them, like Ett|tt|L");
  says("Et|t|t|t|tL", 5, 4, "make 4 or 8 of them, like Et|t|t|ttL");
  says("E(t|)*100L", 5, 101, "write it like E(|)*96(t|)*4tL");
  says("EE|L", 0, 2, "the embedding (E) is not first");
  says("", 1, 1, "the embedding (E) is not first");
  says("Et|m|L", 1, 3, "at character 4: m, a layer for multi-token prediction");
  says("Et|x|L", 1, 3, "at character 4: 'x'");
  says("Et*|L", 1, 2, "* without a number");
  says("Et*0|L", 1, 2, "* without a number");
  says("E(t|L", 1, 2, "not closed");
  says("Et)|L", 1, 2, "not opened");
  says("E((t*99999)*99999)*99999|L", 1, 2, "more layers and stages");
  says(std::string(100, '('), 1, 2, "brackets in brackets");
}

TEST(ParseLayout, OffersATextThatItAccepts) {
  for (const std::string text :
       {"", "E", "t|t|tL", "L|E", "Ettt|||tL", "Et*9|t*9L", "E(t|)*69tL"}) {
    for (const int layers : {1, 7, 140, 141, 203}) {
      for (const int p : {1, 2, 3, 4, 70}) {
        const std::string said = refusal(text, layers, p);
        if (said.rfind("accepted", 0) == 0) continue;
        const std::string offer = said.substr(said.find("like ") + 5);
        EXPECT_EQ(refusal(offer, layers, p).rfind("accepted", 0), 0U) << said;
      }
    }
  }
}

TEST(BalancedLayout, HasNoCheaperDearestStage) {
  // All layouts of few layers over three stages, against the one that was chosen.
  for (const StageCosts& costs :
       {StageCosts{}, StageCosts{.layer = 1, .embedding = 0.1, .head = 1.7},
        StageCosts{.layer = 2, .embedding = 3, .head = 9}}) {
    for (int layers = 4; layers <= 12; ++layers) {
      const auto dearest = [&](const std::vector<int>& counts) {
        return std::max({costs.layer * counts[0] + costs.embedding, costs.layer * counts[1],
                         costs.layer * counts[2] + costs.head});
      };
      const Layout layout = balanced_layout(layers, 3, 1, costs);
      expect_whole(layout, layers);
      for (int a = 0; a <= layers; ++a) {
        for (int b = 0; a + b <= layers; ++b)
          EXPECT_LE(dearest(layout.layers_of), dearest({a, b, layers - a - b}) + 1e-9);
      }
    }
  }
}

TEST(BalancedLayout, GivesEarlierStagesFewerLayersAndNoStageNothing) {
  EXPECT_EQ(balanced_layout(10, 4, 1, {}).layers_of, (std::vector<int>{2, 2, 3, 3}));
  EXPECT_EQ(balanced_layout(8, 2, 2, {}).layers_of, (std::vector<int>{2, 2, 2, 2}));
  EXPECT_THROW(static_cast<void>(balanced_layout(2, 5, 1, {})), Error);
  EXPECT_THROW(static_cast<void>(balanced_layout(0, 1, 1, {})), Error);
}

TEST(Placement, SaysWhereEveryLayerWent) {
  const std::string text = parse_layout("Et*3|tt|t|tL", 7, 2).placement();
  EXPECT_NE(text.find("embedding, layers 0-2"), std::string::npos) << text;
  EXPECT_NE(text.find("layer 5"), std::string::npos) << text;
  EXPECT_NE(text.find("layer 6, head"), std::string::npos) << text;
  EXPECT_NE(text.find("7 of 7 layers placed"), std::string::npos) << text;
}

}  // namespace
}  // namespace trireme::parallel
