#include "app/plan_text.h"

#include <nlohmann/json.hpp>

#include "config/run_file.h"
#include "core/format.h"
#include "core/log.h"
#include "program/print.h"
#include "schedule/text.h"

namespace trireme::app {

namespace {

// As in "the batch grows: 8 sequences, 16 from sample 1000 on, ...".
std::string growth_text(const train::BatchCourse& batch) {
  std::string text = "batch grows: ";
  for (const train::BatchCourse::Stage& stage : batch.stages()) {
    if (stage.from > 0) text += ", ";
    text += stage.from == 0 ? format("{} sequences", stage.batch)
                            : format("{} from sample {} on", stage.batch, stage.from);
  }
  return text;
}

}  // namespace

void say_plan(const model::RunPlan& plan, const train::Cut& cut, const train::BatchCourse& batch) {
  say(format("model: {} parameters ({} layers, hidden {}, {} heads, {} words, sequences of {})",
             count_text(static_cast<double>(plan.table.parameters())), plan.shape.layers,
             plan.shape.hidden, plan.shape.heads, plan.shape.vocabulary, plan.shape.length));
  say(cut.text(plan.profile.threads));
  say(format("batch: {} sequences = {} microbatches of {}; {} FLOP per step", batch.largest(),
             plan.batch.microbatches, plan.batch.sequences,
             count_text(model::nominal_flops(plan.shape, batch.largest()))));
  if (!batch.is_constant()) say(growth_text(batch));
  say(plan.memory.text());
}

namespace {

nlohmann::ordered_json json_of(const data::SourceReport& source) {
  nlohmann::ordered_json json = {{"dataset", source.name}};
  if (source.weight) json["weight"] = *source.weight;
  json["documents"] = source.documents;
  json["tokens"] = source.tokens;
  if (source.eod_share) json["eod_share"] = *source.eod_share;
  json["samples"] = source.samples;
  json["epochs"] = source.epochs;
  json["tokens_left_out"] = source.left_out;
  return json;
}

nlohmann::ordered_json json_of(const data::DataReport& report) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const data::PartReport& part : report.parts) {
    auto sources = nlohmann::ordered_json::array();
    for (const data::SourceReport& source : part.sources) sources.push_back(json_of(source));
    json[std::string(name_of(part.part))] = {{"samples", part.samples}, {"datasets", sources}};
  }
  return json;
}

}  // namespace

std::string plan_json(const model::RunPlan& plan, std::span<const config::GroupView> options,
                      const data::DataReport* report) {
  nlohmann::ordered_json memory = nlohmann::ordered_json::object();
  for (int i = 0; i < model::kArenas; ++i) {
    const auto kind = static_cast<model::ArenaKind>(i);
    memory[std::string(model::name_of(kind))] = plan.memory[kind];
  }
  auto activations = nlohmann::ordered_json::array();
  for (const model::ChunkActivations& chunk : plan.memory.chunks) {
    activations.push_back(
        {{"microbatches_in_flight", chunk.in_flight}, {"bytes_per_microbatch", chunk.slot_bytes}});
  }
  nlohmann::ordered_json json = {
      {"format", "trireme-plan"},
      {"version", 1},
      {"options", nlohmann::ordered_json::parse(config::json_text(options))},
      {"parameters", plan.table.parameters()},
      {"microbatches", plan.batch.microbatches},
      {"step_flops", model::nominal_flops(plan.shape, plan.global_batch())},
      {"schedule", schedule::print(plan.largest_batch().schedule)},
      {"memory_bytes", memory},
      {"memory_bytes_total", plan.memory.total()},
      {"activations_by_chunk", activations}};
  if (report != nullptr) json["data"] = json_of(*report);
  // Names of files may be no UTF-8.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void say_whole_plan(const model::RunPlan& plan) {
  say("memory beside that\n"
      "  packed weights: none, a product packs in the workspace while it runs\n"
      "  communication: none, collectives work in place on activations and gradients\n");
  say("tensors\n" + parallel::print(plan.table));
  say("schedule\n" + schedule::print(plan.largest_batch().schedule));
  for (const auto* programs : {&plan.train, &plan.evaluate}) {
    for (const model::PlacedProgram& placed : *programs) {
      say(program::print(placed.program, placed.slots));
    }
  }
  say(program::print(plan.reduce->program, plan.reduce->slots));
  say(program::print(plan.step->program, plan.step->slots));
}

}  // namespace trireme::app
