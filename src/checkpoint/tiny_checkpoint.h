#pragma once
// For the tests of this room: a model of a few bytes whose every value is a function of global
// coordinates and of a salt, so that what any layout reads can be told right from wrong.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/reader.h"
#include "checkpoint/writer.h"
#include "core/format.h"

namespace trireme::checkpoint::tiny {

using parallel::Coordinates;
using parallel::Slice;
using parallel::Split;
using parallel::Tensor;
using parallel::TensorTable;
using parallel::Topology;

/// One tensor per kind of cut: padded rows, granules of rows, columns, none.
inline TensorTable table() {
  TensorTable table;
  table.add({.name = "embedding", .shape = {13, 2}, .splits = {Split{.padded = 24}}});
  table.add({.name = "qkv", .shape = {12, 4}, .splits = {Split{.granule = 1}}});
  Tensor columns = {.name = "proj", .shape = {2, 12}, .dtype = DType::bf16};
  columns.splits[1] = Split{};
  table.add(columns);
  table.add({.name = "bias", .shape = {3}});
  return table;
}

inline std::byte value_at(const std::string& tensor, size_t byte, int salt) {
  return static_cast<std::byte>(std::hash<std::string>()(tensor) + byte * 31 + byte / 256 * 7 +
                                static_cast<size_t>(salt) * 101);
}

/// A slice's bytes in its local shape, padding filled with `padding`.
inline std::vector<std::byte> bytes_of_slice(const TensorSpec& spec, const Slice& slice, int salt,
                                             std::byte padding) {
  const auto element = static_cast<size_t>(bytes_of(spec.dtype));
  std::vector<std::byte> all(static_cast<size_t>(spec.shape.elements()) * element);
  for (size_t i = 0; i < all.size(); ++i) all[i] = value_at(spec.name, i, salt);
  std::vector<std::byte> local(static_cast<size_t>(slice.storage.elements()) * element, padding);
  copy_box({.extent = slice.extent, .from = slice.offset, .to = whole(slice.extent).offset}, all,
           spec.shape, local, slice.storage, bytes_of(spec.dtype));
  return local;
}

/// What a rank holds: weights, and moments in fp32. Tensors go to stages in turn.
struct Held {
  SliceToWrite slice;
  bool stored;  ///< by this rank
};
inline std::vector<Held> held_by(const Topology& topology, const Coordinates& at) {
  const TensorTable tensors = table();
  std::vector<Held> held;
  for (int i = 0; i < tensors.size(); ++i) {
    if (i % topology.pipeline() != at.pipeline) continue;
    const Tensor& tensor = tensors[TensorId{i}];
    const Slice slice = tensors.slice(TensorId{i}, topology, at);
    const std::string rank = format("-p{}-t{}", at.pipeline, at.tensor);
    const auto add = [&](const std::string& name, DType dtype, const std::string& stem) {
      held.push_back({{{name, dtype, tensor.shape}, slice, stem + rank}, stores(tensor, at)});
    };
    add(tensor.name, tensor.dtype, "model");
    add("optimizer.exp_avg." + tensor.name, DType::f32, "optimizer");
  }
  return held;
}

inline RunState run_state(int64_t iteration, int salt, const Topology& topology = {}) {
  return {.iteration = iteration,
          .consumed_samples = iteration * 64 + salt,
          .scheduler_samples = iteration * 60,
          .adam_step = iteration - 1,
          .seed = 7,
          .ranks = topology,
          .options = format("salt = {}\n", salt)};
}

/// Saves as all ranks of the topology would.
inline void save(const Path& root, int64_t iteration, int salt, const Topology& topology = {},
                 Disk& disk = system_disk()) {
  CheckpointWriter writer(root, iteration, disk);
  std::vector<Contents> parts;
  for (int rank = 0; rank < topology.world_size(); ++rank) {
    std::vector<SliceToWrite> slices;
    for (const Held& held : held_by(topology, topology.coordinates(Rank{rank}))) {
      if (held.stored) slices.push_back(held.slice);
    }
    SliceWriter part(writer.folder(), slices, disk);
    for (size_t i = 0; i < slices.size(); ++i) {
      part.write(i, bytes_of_slice(slices[i].tensor, slices[i].slice, salt, std::byte{0xee}));
    }
    parts.push_back(contents_from_json(to_json(part.finish()), "wire"));
  }
  writer.commit(run_state(iteration, salt, topology), parts);
}

/// Reads as all ranks of the topology would; every element must be the one that was saved.
inline void expect_saved(CheckpointReader reader, int64_t iteration, int salt,
                         const Topology& topology = {}) {
  EXPECT_EQ(reader.manifest().run, run_state(iteration, salt, reader.manifest().run.ranks));
  for (int rank = 0; rank < topology.world_size(); ++rank) {
    for (const Held& held : held_by(topology, topology.coordinates(Rank{rank}))) {
      const auto& [tensor, slice, stem] = held.slice;
      const auto expected = bytes_of_slice(tensor, slice, salt, std::byte{0});
      std::vector<std::byte> read(expected.size(), std::byte{0x77});
      reader.read(tensor, slice, read);
      EXPECT_EQ(read, expected) << tensor.name << " on rank " << rank;
    }
  }
}

}  // namespace trireme::checkpoint::tiny
