#include "train/checkpointing.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "checkpoint/writer.h"
#include "core/format.h"
#include "core/process_memory.h"
#include "engine/initialise.h"

namespace trireme::train {
namespace {

using engine::TensorState;

struct StoredState {
  TensorState state;
  const char* prefix;
  const char* stem;
};
constexpr StoredState kWeights = {TensorState::parameter, "", "model"};
constexpr std::array<StoredState, 2> kOptimizer = {
    {{TensorState::first_moment, "optimizer.exp_avg.", "optimizer"},
     {TensorState::second_moment, "optimizer.exp_avg_sq.", "optimizer"}}};

// Tensors whose values lie on this rank: of a tied one beside its holder, only the holder's do.
std::vector<TensorId> own_tensors(const model::RunPlan& plan) {
  std::vector<TensorId> ids;
  for (int i = 0; i < plan.table.size(); ++i) {
    if (plan.local.holds(TensorId{i}) && !plan.local[TensorId{i}].alias) ids.push_back(TensorId{i});
  }
  return ids;
}

// The tensor as which the values are known: a tied one has those of its holder.
const parallel::Tensor& named(const model::RunPlan& plan, TensorId id) {
  const parallel::Tensor& tensor = plan.table[id];
  return tensor.tied_to ? plan.table[*tensor.tied_to] : tensor;
}

checkpoint::TensorSpec spec_of(const parallel::Tensor& tensor, const StoredState& stored) {
  return {.name = stored.prefix + tensor.name, .dtype = tensor.dtype, .shape = tensor.shape};
}

// The slice as the session hands it over: without padding.
parallel::Slice packed(const parallel::Slice& slice) {
  return {.offset = slice.offset, .extent = slice.extent, .storage = slice.extent};
}

// Room on the host for one tensor after another; the system has it back behind the last.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() {
    std::vector<float>().swap(values_);
    give_back_memory();
  }
  std::span<float> of(int64_t elements) {
    values_.resize(static_cast<size_t>(elements));
    return values_;
  }

 private:
  std::vector<float> values_;
};

// Of the files that a rank writes: unlike those of all others.
std::string stem_of(const model::RunPlan& plan, const StoredState& stored) {
  if (plan.topology.pipeline() * plan.topology.tensor() == 1) return stored.stem;
  return format("{}-p{}-t{}", stored.stem, plan.at.pipeline, plan.at.tensor);
}

// Writes what this rank stores of its tensors and their state.
checkpoint::Contents write_part(engine::Session& session, const Path& folder,
                                checkpoint::Disk& disk) {
  const model::RunPlan& plan = session.plan();
  struct Item {
    TensorId id;
    TensorState state;
  };
  std::vector<checkpoint::SliceToWrite> slices;
  std::vector<Item> items;
  const auto add = [&](const StoredState& stored) {
    for (const TensorId id : own_tensors(plan)) {
      const parallel::Tensor& tensor = plan.table[id];
      // A tied tensor's values are stored by the stage that holds the other.
      if (tensor.tied_to || !checkpoint::stores(tensor, plan.at)) continue;
      slices.push_back({.tensor = spec_of(tensor, stored),
                        .slice = packed(plan.local[id].slice),
                        .stem = stem_of(plan, stored)});
      items.push_back({.id = id, .state = stored.state});
    }
  };
  add(kWeights);
  for (const StoredState& stored : kOptimizer) add(stored);

  checkpoint::SliceWriter part(folder, slices, disk);
  HostBuffer buffer;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::span<float> values = buffer.of(session.slice_elements(items[i].id));
    session.read_tensor(items[i].id, items[i].state, values);
    part.write(i, std::as_bytes(values));
  }
  return part.finish();
}

std::vector<checkpoint::Contents> contents_of(const std::vector<std::string>& parts) {
  std::vector<checkpoint::Contents> contents;
  for (size_t rank = 0; rank < parts.size(); ++rank)
    contents.push_back(checkpoint::contents_from_json(parts[rank], format("rank {}", rank)));
  return contents;
}

void load_state(engine::Session& session, checkpoint::CheckpointReader& reader,
                const StoredState& stored) {
  HostBuffer buffer;
  for (const TensorId id : own_tensors(session.plan())) {
    const std::span<float> values = buffer.of(session.slice_elements(id));
    reader.read(spec_of(named(session.plan(), id), stored), packed(session.plan().local[id].slice),
                std::as_writable_bytes(values));
    session.write_tensor(id, stored.state, values);
  }
}

}  // namespace

void save_checkpoint(const World& world, engine::Session& session, const Position& position,
                     uint32_t seed, const std::string& options, const Path& root,
                     checkpoint::Disk& disk) {
  std::optional<checkpoint::CheckpointWriter> save;  // the first rank's, which commits
  const Path folder = together(world, [&]() -> std::string {
                        if (!world.is_first()) return "";
                        return save.emplace(root, position.iteration, disk).folder().string();
                      }).front();
  const std::vector<std::string> parts =
      together(world, [&] { return to_json(write_part(session, folder, disk)); });
  together(world, [&]() -> std::string {
    if (!world.is_first()) return "";
    save->commit({.iteration = position.iteration,
                  .consumed_samples = position.consumed_samples,
                  .scheduler_samples = position.scheduler_samples,
                  .adam_step = position.adam_step,
                  .seed = seed,
                  .ranks = session.plan().topology,
                  .options = options},
                 contents_of(parts));
    return "";
  });
}

void load_weights(engine::Session& session, checkpoint::CheckpointReader& reader) {
  load_state(session, reader, kWeights);
}

Position load_checkpoint(engine::Session& session, checkpoint::CheckpointReader& reader) {
  load_weights(session, reader);
  for (const StoredState& stored : kOptimizer) load_state(session, reader, stored);
  const checkpoint::RunState& run = reader.manifest().run;
  return {.iteration = run.iteration,
          .consumed_samples = run.consumed_samples,
          .scheduler_samples = run.scheduler_samples,
          .adam_step = run.adam_step};
}

void initialise_weights(engine::Session& session, uint32_t seed, ThreadPool& pool) {
  HostBuffer buffer;
  for (const TensorId id : own_tensors(session.plan())) {
    const std::span<float> values = buffer.of(session.slice_elements(id));
    engine::initial_values(named(session.plan(), id), session.plan().local[id].slice, seed, pool,
                           values);
    session.write_tensor(id, TensorState::parameter, values);
  }
}

}  // namespace trireme::train
