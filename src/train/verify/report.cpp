#include "train/verify/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "comm/gather_text.h"
#include "core/error.h"
#include "core/format.h"
#include "core/table.h"

namespace trireme::train {
namespace {

constexpr double kHuge = std::numeric_limits<double>::max();
constexpr std::array<std::string_view, 9> kNames = {
    "start",         "forward",      "loss",          "backward", "gradient",
    "gradient norm", "first moment", "second moment", "update"};

auto key_of(const Comparison& one) {
  return std::tuple(one.step, one.quantity, one.order, one.name);
}

nlohmann::ordered_json to_json(const Comparison& one) {
  return {{"quantity", name_of(one.quantity)},
          {"step", one.step},
          {"order", one.order},
          {"name", one.name},
          {"op", one.op},
          {"error", one.error},
          {"scale", one.scale},
          {"tolerance", one.tolerance},
          {"elements", one.elements},
          {"different", one.different},
          {"where", one.where},
          {"out", one.is_out()}};
}

Comparison from_json(const nlohmann::json& json) {
  Comparison one;
  const auto name = json.at("quantity").get<std::string>();
  one.quantity =
      static_cast<Quantity>(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
  json.at("step").get_to(one.step);
  json.at("order").get_to(one.order);
  json.at("name").get_to(one.name);
  json.at("op").get_to(one.op);
  json.at("error").get_to(one.error);
  json.at("scale").get_to(one.scale);
  json.at("tolerance").get_to(one.tolerance);
  json.at("elements").get_to(one.elements);
  json.at("different").get_to(one.different);
  json.at("where").get_to(one.where);
  return one;
}

std::string step_text(const Comparison& one) {
  return one.step == 0 ? "start" : format("step {}", one.step);
}

std::string number(double value) {
  return value == kHuge ? "not finite" : format("{:.2e}", value);
}

std::string sentence(const Comparison& one) {
  std::string text = format("{}: {} of {}", step_text(one), name_of(one.quantity), one.name);
  if (!one.op.empty()) text += format(" ({})", one.op);
  text += format(": differs by {} at values up to {:.2e}, tolerance {}", number(one.error),
                 one.scale, one.tolerance > 0 ? number(one.tolerance) : "none (the same bits)");
  return text + format("; {} of {} elements differ; {}", one.different, one.elements, one.where);
}

// The worst step of each tensor and value, worst first.
std::vector<const Comparison*> worst(const std::vector<Comparison>& comparisons) {
  std::map<std::pair<Quantity, std::string>, const Comparison*> of;
  for (const Comparison& one : comparisons) {
    const Comparison*& held = of[{one.quantity, one.name}];
    if (held == nullptr || one.ratio() > held->ratio()) held = &one;
  }
  std::vector<const Comparison*> sorted;
  for (const auto& [key, one] : of) sorted.push_back(one);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Comparison* a, const Comparison* b) {
    if (a->ratio() != b->ratio()) return a->ratio() > b->ratio();
    return key_of(*a) < key_of(*b);
  });
  return sorted;
}

std::string table_of(const char* what, const std::vector<const Comparison*>& all, size_t rows) {
  using Align = TextTable::Align;
  const size_t shown = rows == 0 ? all.size() : std::min(rows, all.size());
  TextTable table({{what, Align::left},
                   {"", Align::left},
                   {"step", Align::right},
                   {"largest error", Align::right},
                   {"tolerance", Align::right},
                   {"used", Align::right},
                   {"differ", Align::right},
                   {"where", Align::left}});
  for (size_t i = 0; i < shown; ++i) {
    const Comparison& one = *all[i];
    const std::string used = one.is_out()     ? "OUT"
                             : one.error == 0 ? "0"
                                              : format("{:.1f}%", 100 * one.ratio());
    table.row({one.name, std::string(name_of(one.quantity)), format("{}", one.step),
               number(one.error), one.tolerance == 0 ? "same bits" : number(one.tolerance), used,
               format("{} of {}", one.different, one.elements),
               one.different == 0 ? "" : one.where});
  }
  return table.text() +
         (shown < all.size() ? format("... and {} more (--all)\n", all.size() - shown) : "");
}

}  // namespace

std::string_view name_of(Quantity quantity) {
  return kNames[static_cast<size_t>(quantity)];
}

double Comparison::ratio() const {
  if (error == 0) return 0;
  return tolerance > 0 ? std::min(error / tolerance, kHuge) : kHuge;
}

void Comparison::join(const Comparison& other) {
  if (other.ratio() > ratio() || where.empty()) {
    error = other.error;
    tolerance = other.tolerance;
    where = other.where;
  }
  scale = std::max(scale, other.scale);
  elements += other.elements;
  different += other.different;
}

void add_difference(Comparison& comparison, std::span<const float> reference,
                    std::span<const float> own) {
  TRIREME_ASSERT(reference.size() == own.size(), "the same part of a tensor is compared");
  for (size_t i = 0; i < own.size(); ++i) {
    const double right = reference[i];
    comparison.scale = std::max(comparison.scale, std::isfinite(right) ? std::abs(right) : kHuge);
    if (reference[i] == own[i]) continue;
    ++comparison.different;
    const double error = std::abs(right - double{own[i]});
    comparison.error = std::max(comparison.error, std::isfinite(error) ? error : kHuge);
  }
  comparison.elements += static_cast<int64_t>(own.size());
}

const Comparison* VerifyReport::first_out() const {
  const auto found = std::find_if(comparisons.begin(), comparisons.end(),
                                  [](const Comparison& one) { return one.is_out(); });
  return found == comparisons.end() ? nullptr : &*found;
}

std::string VerifyReport::text(size_t rows) const {
  const std::vector<const Comparison*> all = worst(comparisons);
  std::vector<const Comparison*> tensors;
  std::vector<const Comparison*> values;
  for (const Comparison* one : all) {
    const bool is_value = one->quantity == Quantity::forward || one->quantity == Quantity::backward;
    (is_value ? values : tensors).push_back(one);
  }
  std::string text = table_of("tensor", tensors, rows) + "\n" +
                     table_of("value between ops", values, rows == 0 ? 0 : (rows + 1) / 2) + "\n";
  const auto equal = std::count_if(all.begin(), all.end(),
                                   [](const Comparison* one) { return one->different == 0; });
  const auto out = std::count_if(comparisons.begin(), comparisons.end(),
                                 [](const Comparison& one) { return one.is_out(); });
  if (const Comparison* first = first_out()) {
    return text + format(
                      "{} of {} comparisons are out. The first in the order of the data flow:\n"
                      "  {}\n",
                      out, comparisons.size(), sentence(*first));
  }
  return text + format(
                    "all {} tensors and values are within tolerance, {} of them equal to the "
                    "bit\n",
                    all.size(), equal);
}

std::string VerifyReport::json() const {
  nlohmann::ordered_json json = {
      {"format", "trireme-verify"}, {"version", 1}, {"sound", is_sound()}, {"first_out", nullptr}};
  if (const Comparison* first = first_out()) json["first_out"] = to_json(*first);
  json["comparisons"] = nlohmann::ordered_json::array();
  for (const Comparison& one : comparisons) json["comparisons"].push_back(to_json(one));
  return json.dump(2);
}

VerifyReport join_reports(comm::Communicator& world, device::Stream& stream,
                          const std::vector<Comparison>& own) {
  nlohmann::ordered_json part = nlohmann::ordered_json::array();
  for (const Comparison& one : own) part.push_back(to_json(one));
  VerifyReport report;
  std::map<decltype(key_of(Comparison())), Comparison> joined;
  for (const std::string& text : comm::gather_texts(world, stream, part.dump())) {
    for (const nlohmann::json& json : nlohmann::json::parse(text)) {
      const Comparison one = from_json(json);
      const auto [held, is_new] = joined.emplace(key_of(one), one);
      if (!is_new) held->second.join(one);
    }
  }
  for (auto& [key, one] : joined) report.comparisons.push_back(std::move(one));
  return report;
}

}  // namespace trireme::train
