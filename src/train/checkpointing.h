#pragma once
#include <cstdint>
#include <string>

#include "checkpoint/disk.h"
#include "checkpoint/reader.h"
#include "engine/session.h"
#include "train/together.h"
#include "train/trainer.h"

namespace trireme::train {

/// Saves weights and optimizer state of the sessions of all ranks under root/iter_N, whole or not
/// at all. Each slice is written by one of the ranks that have it, into files of that rank's own:
/// model-p0-t1.safetensors and optimizer-p0-t1.safetensors, without coordinates where a single rank
/// has the whole model. Called by all ranks; throws on all or on none, and what was saved before
/// is then still whole. root: a folder that all ranks see. options: the effective configuration as
/// TOML, which the checkpoint keeps. disk: this rank's.
void save_checkpoint(const World& world, engine::Session& session, const Position& position,
                     uint32_t seed, const std::string& options, const Path& root,
                     checkpoint::Disk& disk = checkpoint::system_disk());

/// Reads this rank's part of the weights of a checkpoint, whatever layout wrote them.
void load_weights(engine::Session& session, checkpoint::CheckpointReader& reader);

/// Reads this rank's part of weights and optimizer state; returns where the run stood.
Position load_checkpoint(engine::Session& session, checkpoint::CheckpointReader& reader);

/// Gives every tensor its initial values, by global coordinates.
void initialise_weights(engine::Session& session, uint32_t seed, ThreadPool& pool);

}  // namespace trireme::train
