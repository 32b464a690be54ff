#pragma once
#include <cstdint>
#include <string>

#include "checkpoint/disk.h"
#include "checkpoint/reader.h"
#include "engine/session.h"
#include "train/trainer.h"

namespace trireme::train {

/// Saves weights (model.safetensors) and optimizer state (optimizer.safetensors) of a session under
/// root/iter_N, whole or not at all. options: the effective configuration as TOML, which the
/// checkpoint keeps.
void save_checkpoint(engine::Session& session, const Position& position, uint32_t seed,
                     const std::string& options, const Path& root,
                     checkpoint::Disk& disk = checkpoint::system_disk());

/// Reads the weights of a checkpoint into a session, whatever layout wrote them.
void load_weights(engine::Session& session, checkpoint::CheckpointReader& reader);

/// Reads weights and optimizer state; returns where the run stood.
Position load_checkpoint(engine::Session& session, checkpoint::CheckpointReader& reader);

/// Gives every tensor its initial values, by global coordinates.
void initialise_weights(engine::Session& session, uint32_t seed, ThreadPool& pool);

}  // namespace trireme::train
