#pragma once
#include <span>
#include <string>

#include "config/group.h"
#include "data/report.h"
#include "model/run_plan.h"
#include "train/batch_course.h"
#include "train/cut.h"

namespace trireme::app {

/// What every run begins with: the model, where its layers went, the batch, the first rank's memory
/// table.
void say_plan(const model::RunPlan& plan, const train::Cut& cut, const train::BatchCourse& batch);

/// Everything that will happen, as values: tensors, schedule, the programs of all actions.
void say_whole_plan(const model::RunPlan& plan);

/// The plan's numbers for a program: effective options, sizes, memory in bytes; what is known of
/// the data, unless null.
[[nodiscard]] std::string plan_json(const model::RunPlan& plan,
                                    std::span<const config::GroupView> options,
                                    const data::DataReport* report = nullptr);

}  // namespace trireme::app
