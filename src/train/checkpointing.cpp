#include "train/checkpointing.h"

#include <array>
#include <span>
#include <vector>

#include "checkpoint/writer.h"
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

void save_checkpoint(engine::Session& session, const Position& position, uint32_t seed,
                     const std::string& options, const Path& root, checkpoint::Disk& disk) {
  const model::RunPlan& plan = session.plan();
  const std::vector<TensorId> ids = own_tensors(plan);
  struct Item {
    TensorId id;
    TensorState state;
  };
  std::vector<checkpoint::SliceToWrite> slices;
  std::vector<Item> items;
  const auto add = [&](const StoredState& stored) {
    for (const TensorId id : ids) {
      slices.push_back({.tensor = spec_of(plan.table[id], stored),
                        .slice = packed(plan.local[id].slice),
                        .stem = stored.stem});
      items.push_back({.id = id, .state = stored.state});
    }
  };
  add(kWeights);
  for (const StoredState& stored : kOptimizer) add(stored);

  checkpoint::CheckpointWriter save(root, position.iteration, disk);
  checkpoint::SliceWriter part(save.folder(), slices, disk);
  HostBuffer buffer;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::span<float> values = buffer.of(session.slice_elements(items[i].id));
    session.read_tensor(items[i].id, items[i].state, values);
    part.write(i, std::as_bytes(values));
  }
  const std::array<checkpoint::Contents, 1> parts = {part.finish()};
  save.commit({.iteration = position.iteration,
               .consumed_samples = position.consumed_samples,
               .scheduler_samples = position.scheduler_samples,
               .adam_step = position.adam_step,
               .seed = seed,
               .ranks = plan.topology,
               .options = options},
              parts);
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
