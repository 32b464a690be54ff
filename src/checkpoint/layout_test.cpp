#include "checkpoint/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "core/error.h"

namespace trireme::checkpoint {
namespace {

using Random = std::mt19937;

int64_t between(Random& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

Shape random_shape(Random& random, int rank) {
  std::vector<int64_t> extents;
  for (int i = 0; i < rank; ++i) extents.push_back(between(random, 1, 9));
  return Shape(extents);
}

/// Cuts a region in two along a random dimension, and the pieces again, `cuts` times.
std::vector<Region> random_tiling(Random& random, const Shape& shape, int cuts) {
  std::vector<Region> pieces = {whole(shape)};
  for (int cut = 0; cut < cuts && shape.rank() > 0; ++cut) {
    const auto which =
        static_cast<size_t>(between(random, 0, static_cast<int64_t>(pieces.size()) - 1));
    const int dimension = static_cast<int>(between(random, 0, shape.rank() - 1));
    Region& piece = pieces[which];
    const int64_t extent = piece.extent[dimension];
    if (extent < 2) continue;
    const int64_t first = between(random, 1, extent - 1);
    Region rest = piece;
    piece.extent.set(dimension, first);
    rest.offset.set(dimension, rest.offset[dimension] + first);
    rest.extent.set(dimension, extent - first);
    pieces.push_back(rest);
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  return pieces;
}

/// What an element of a tensor is worth: its row-major index, so that no two are equal.
int32_t value_at(const Shape& shape, const Shape& position) {
  int64_t index = 0;
  for (int i = 0; i < shape.rank(); ++i) index = index * shape[i] + position[i];
  return static_cast<int32_t>(index + 1);
}

/// Calls visit(local position, position in the tensor) for all elements of a region.
template <class Visit>
void for_each_element(const Region& region, const Visit& visit) {
  Shape local = whole(region.extent).offset;
  if (region.elements() == 0) return;
  for (;;) {
    Shape position = local;
    for (int i = 0; i < local.rank(); ++i) position.set(i, local[i] + region.offset[i]);
    visit(local, position);
    int i = local.rank() - 1;
    for (; i >= 0 && local[i] + 1 == region.extent[i]; --i) local.set(i, 0);
    if (i < 0) return;
    local.set(i, local[i] + 1);
  }
}

std::vector<int32_t> content_of(const Region& region, const Shape& tensor, const Shape& storage) {
  std::vector<int32_t> values(static_cast<size_t>(storage.elements()), 0);
  for_each_element(region, [&](const Shape& local, const Shape& position) {
    values[static_cast<size_t>(value_at(storage, local) - 1)] = value_at(tensor, position);
  });
  return values;
}

TEST(Cover, AssemblesAnyLayoutFromAnyOther) {
  Random random(20);
  for (int round = 0; round < 2000; ++round) {
    const Shape shape = random_shape(random, round % 5);
    const auto stored = random_tiling(random, shape, static_cast<int>(between(random, 0, 12)));
    std::vector<std::vector<int32_t>> files;
    files.reserve(stored.size());
    for (const Region& piece : stored) files.push_back(content_of(piece, shape, piece.extent));
    for (const Region& wanted :
         random_tiling(random, shape, static_cast<int>(between(random, 0, 6)))) {
      Shape storage = wanted.extent;
      for (int i = 0; i < shape.rank(); ++i) storage.set(i, storage[i] + between(random, 0, 2));
      std::vector<int32_t> out(static_cast<size_t>(storage.elements()), 0);
      for (const Copy& copy : cover(wanted, stored, "test")) {
        copy_box(copy, std::as_bytes(std::span(files[copy.source])), stored[copy.source].extent,
                 std::as_writable_bytes(std::span(out)), storage, 4);
      }
      ASSERT_EQ(out, content_of(wanted, shape, storage)) << shape.text() << wanted.text();
    }
  }
}

TEST(Cover, CopiesWholeRunsAndOnlyWhatIsWanted) {
  const std::vector<Region> rows = {{{0, 0}, {4, 6}}, {{4, 0}, {4, 6}}};
  EXPECT_EQ(cover({{4, 0}, {4, 6}}, rows, "w").size(), 1U);
  const auto columns = cover({{0, 3}, {8, 3}}, rows, "w");
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[0].from, (Shape{0, 3}));
  EXPECT_EQ(columns[1].to, (Shape{4, 0}));
  EXPECT_EQ(columns[1].extent, (Shape{4, 3}));
}

TEST(Cover, NamesTheTensorWhenAPieceIsMissing) {
  Random random(21);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = random_shape(random, 1 + round % 4);
    auto stored = random_tiling(random, shape, 5);
    stored.pop_back();
    try {
      static_cast<void>(cover(whole(shape), stored, "CK: tensor qkv"));
      FAIL() << shape.text();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("CK: tensor qkv: of the"), std::string::npos)
          << error.what();
    }
  }
}

TEST(Cover, RefusesElementsThatAreStoredTwice) {
  Random random(22);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = random_shape(random, round % 5);
    auto stored = random_tiling(random, shape, 5);
    stored.push_back(stored[static_cast<size_t>(round) % stored.size()]);
    std::shuffle(stored.begin(), stored.end(), random);
    EXPECT_THROW(static_cast<void>(cover(whole(shape), stored, "w")), Error);
  }
  // as many elements as wanted, but not the right ones
  const std::vector<Region> shifted = {{{0}, {3}}, {{2}, {1}}};
  EXPECT_THROW(static_cast<void>(cover({{0}, {4}}, shifted, "w")), Error);
  const std::vector<Region> unordered = {{{0}, {3}}, {{4}, {2}}, {{2}, {1}}};
  EXPECT_THROW(static_cast<void>(cover({{0}, {6}}, unordered, "w")), Error);
}

TEST(Cover, AnEmptyRegionWantsNothing) {
  EXPECT_TRUE(cover({{61, 0}, {0, 4}}, {}, "w").empty());
}

TEST(Region, LiesInATensorWhateverTheNumbers) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(lies_in({{2, 0}, {1, 4}}, {3, 4}));
  EXPECT_TRUE(lies_in({{3, 0}, {0, 4}}, {3, 4}));
  EXPECT_FALSE(lies_in({{3, 0}, {1, 4}}, {3, 4}));
  EXPECT_FALSE(lies_in({{kMost, 0}, {kMost, 4}}, {3, 4}));
  EXPECT_FALSE(lies_in({{-1, 0}, {2, 4}}, {3, 4}));
  EXPECT_FALSE(lies_in({{0}, {3}}, {3, 4}));
  EXPECT_TRUE(lies_in({{}, {}}, {}));
}

}  // namespace
}  // namespace trireme::checkpoint
