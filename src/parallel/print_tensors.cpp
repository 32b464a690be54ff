#include <map>

#include "core/format.h"
#include "core/table.h"
#include "parallel/tensor_table.h"

namespace trireme::parallel {
namespace {

std::string split_text(const Tensor& tensor) {
  std::string text;
  for (int dimension = 0; dimension < tensor.shape.rank(); ++dimension) {
    const auto& split = tensor.splits[static_cast<size_t>(dimension)];
    if (!split) continue;
    text +=
        format("{}dimension {} over {}", text.empty() ? "" : ", ", dimension, name_of(split->axis));
    if (split->granule > 1) text += format(" in {}s", split->granule);
    if (split->padded > tensor.shape[dimension]) text += format(", stored as {}", split->padded);
  }
  return text;
}

std::string init_text(const Tensor& tensor, const TensorTable& table) {
  if (tensor.tied_to) return "tied to " + table[*tensor.tied_to].name;
  switch (tensor.init.kind) {
    case Init::Kind::zeros:
      return "0";
    case Init::Kind::ones:
      return "1";
    case Init::Kind::normal:
      return format("normal, {:.4g}", tensor.init.deviation);
  }
  return "";
}

// The name with the layer's number as N.
std::string name_without_layer(const Tensor& tensor) {
  if (tensor.place.part != Place::Part::layer) return tensor.name;
  const std::string number = format(".{}.", tensor.place.layer);
  std::string name = tensor.name;
  return name.replace(name.find(number), number.size(), ".N.");
}

}  // namespace

std::string print(const TensorTable& table) {
  using Align = TextTable::Align;
  TextTable text({{"tensor", Align::left},
                  {"times", Align::right},
                  {"shape", Align::left},
                  {"dtype", Align::left},
                  {"cut", Align::left},
                  {"starts as", Align::left},
                  {"decay", Align::left}});
  std::vector<std::pair<std::vector<std::string>, int>> rows;
  std::map<std::vector<std::string>, size_t> index;
  for (const Tensor& tensor : table.tensors()) {
    std::vector<std::string> cells = {name_without_layer(tensor),
                                      "",
                                      tensor.shape.text(),
                                      std::string(trireme::name_of(tensor.dtype)),
                                      split_text(tensor),
                                      init_text(tensor, table),
                                      tensor.decay && !tensor.tied_to ? "yes" : ""};
    const auto [found, is_new] = index.try_emplace(cells, rows.size());
    if (is_new) rows.emplace_back(std::move(cells), 0);
    rows[found->second].second += 1;
  }
  for (auto& [cells, count] : rows) {
    cells[1] = format("{}", count);
    text.row(std::move(cells));
  }
  return text.text(2);
}

}  // namespace trireme::parallel
