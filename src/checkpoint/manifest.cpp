#include "checkpoint/manifest.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "checkpoint/strict_json.h"
#include "core/error.h"
#include "core/file.h"
#include "core/format.h"

namespace trireme::checkpoint {
namespace {

Json file_json(const StoredFile& file) {
  return {{"name", file.name}, {"bytes", file.bytes}, {"head_checksum", file.head_checksum}};
}

Json tensor_json(const StoredTensor& stored) {
  Json slices = Json::array();
  for (const StoredSlice& slice : stored.slices) {
    slices.push_back({{"offset", json_of(slice.region.offset)},
                      {"extent", json_of(slice.region.extent)},
                      {"file", slice.file},
                      {"key", slice.key},
                      {"checksum", slice.checksum}});
  }
  return {{"name", stored.tensor.name},
          {"dtype", name_of(stored.tensor.dtype)},
          {"shape", json_of(stored.tensor.shape)},
          {"slices", std::move(slices)}};
}

Json contents_json(const Contents& contents) {
  Json files = Json::array();
  for (const StoredFile& file : contents.files) files.push_back(file_json(file));
  Json tensors = Json::array();
  for (const StoredTensor& tensor : contents.tensors) tensors.push_back(tensor_json(tensor));
  return {{"files", std::move(files)}, {"tensors", std::move(tensors)}};
}

StoredFile file_in(const Json& value, const std::string& where) {
  require_members(value, {"name", "bytes", "head_checksum"}, where);
  return {.name = text_of(value, "name", where),
          .bytes = static_cast<uint64_t>(natural(value, "bytes", where)),
          .head_checksum = text_of(value, "head_checksum", where)};
}

StoredTensor tensor_in(const Json& value, const std::string& file) {
  require_members(value, {"name", "dtype", "shape", "slices"}, file + ": tensors");
  StoredTensor stored;
  stored.tensor.name = text_of(value, "name", file + ": tensors");
  const std::string where = format("{}: tensor {}", file, stored.tensor.name);
  const std::string dtype = text_of(value, "dtype", where);
  if (!dtype_of(dtype)) fail_damaged(where, format("unknown element type {}", Json(dtype).dump()));
  stored.tensor.dtype = *dtype_of(dtype);
  stored.tensor.shape = shape_of(value, "shape", where);
  for (const Json& slice : array_of(value, "slices", where)) {
    require_members(slice, {"offset", "extent", "file", "key", "checksum"}, where);
    stored.slices.push_back({.region = {.offset = shape_of(slice, "offset", where),
                                        .extent = shape_of(slice, "extent", where)},
                             .file = text_of(slice, "file", where),
                             .key = text_of(slice, "key", where),
                             .checksum = text_of(slice, "checksum", where)});
  }
  return stored;
}

Contents contents_in(const Json& value, const std::string& where) {
  Contents contents;
  for (const Json& file : array_of(value, "files", where))
    contents.files.push_back(file_in(file, where + ": files"));
  for (const Json& tensor : array_of(value, "tensors", where))
    contents.tensors.push_back(tensor_in(tensor, where));
  return contents;
}

/// A list with one line per element, for people who open the file.
std::string in_lines(const Json& list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) text += (i > 0 ? ",\n    " : "\n    ") + list[i].dump();
  return text + "\n  ]";
}

/// The members of a manifest in the order in which they are written; all but the checksum.
constexpr std::array<std::string_view, 11> kMembers = {
    "format", "version", "iteration", "consumed_samples", "scheduler_samples", "adam_step", "seed",
    "ranks",  "options", "files",     "tensors"};

/// Over the members sorted by name, without white space, so that it does not depend on how the
/// file is laid out.
std::string checksum_of(const Json& members) {
  const std::string text = members.dump();
  return checksum(std::as_bytes(std::span(text)));
}

void require_version(const Json& json, const std::string& where) {
  if (!json.is_object() || !json.contains("format") || json["format"] != kManifestFormat)
    fail_damaged(where, "not a manifest", format("its \"format\" is \"{}\"", kManifestFormat));
  const int64_t version = natural(json, "version", where);
  if (version != kManifestVersion) {
    fail({.where = where,
          .what = format("format {} version {}", kManifestFormat, version),
          .rule = format("this program reads version {}", kManifestVersion),
          .remedy = "use the program that wrote it, or a newer one"});
  }
}

parallel::Topology ranks_in(const Json& json, const std::string& where) {
  const Json& ranks = json.at("ranks");
  require_members(ranks, {"pipeline", "tensor", "data"}, where + ": ranks");
  const auto size = [&](const char* axis) {
    const int64_t ranks_of_axis = natural(ranks, axis, where + ": ranks");
    if (ranks_of_axis < 1 || ranks_of_axis > 1'000'000)
      fail_damaged(where, format("{} {} ranks", ranks_of_axis, axis));
    return static_cast<int>(ranks_of_axis);
  };
  return {size("pipeline"), size("tensor"), size("data")};
}

bool plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name != kManifestFile &&
         name.find_first_of(std::string("/\0", 2)) == std::string::npos;
}

}  // namespace

const StoredTensor* Contents::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const StoredTensor& stored) {
    return stored.tensor.name == name;
  });
  return found == tensors.end() ? nullptr : &*found;
}

Contents merge(std::span<const Contents> parts) {
  Contents all;
  std::unordered_map<std::string, size_t> index;
  for (const Contents& part : parts) {
    all.files.insert(all.files.end(), part.files.begin(), part.files.end());
    for (const StoredTensor& stored : part.tensors) {
      const auto [place, fresh] = index.try_emplace(stored.tensor.name, all.tensors.size());
      if (fresh) {
        all.tensors.push_back(stored);
        continue;
      }
      StoredTensor& known = all.tensors[place->second];
      if (known.tensor != stored.tensor) {
        fail({.where = format("checkpoint: tensor {}", stored.tensor.name),
              .what = format("{} on one rank, {} on another", known.tensor.text(),
                             stored.tensor.text()),
              .rule = "all ranks save the same model"});
      }
      known.slices.insert(known.slices.end(), stored.slices.begin(), stored.slices.end());
    }
  }
  return all;
}

void require_whole(const Contents& contents, const std::string& where) {
  std::unordered_map<std::string, std::unordered_set<std::string>> keys_of_file;
  for (const StoredFile& file : contents.files) {
    if (!plain_name(file.name))
      fail_damaged(where, format("file name {}", Json(file.name).dump()),
                   "a plain name in the checkpoint's folder");
    if (!keys_of_file.try_emplace(file.name).second)
      fail_damaged(where, format("file {} stands twice", file.name));
  }
  std::unordered_set<std::string> names;
  for (const auto& [tensor, slices] : contents.tensors) {
    const std::string place = format("{}: tensor {}", where, tensor.name);
    if (!names.insert(tensor.name).second) fail_damaged(place, "stands twice");
    if (!stored_bytes(tensor.dtype, tensor.shape))
      fail_damaged(place, format("impossible shape {}", tensor.shape.text()));
    std::vector<Region> regions;
    for (const StoredSlice& slice : slices) {
      if (!lies_in(slice.region, tensor.shape) || slice.region.elements() == 0) {
        fail_damaged(place, format("a slice at {} of {} elements in a tensor of {}",
                                   slice.region.offset.text(), slice.region.extent.text(),
                                   tensor.shape.text()));
      }
      const auto keys = keys_of_file.find(slice.file);
      if (keys == keys_of_file.end())
        fail_damaged(place, format("file {} is not in the list of files", slice.file));
      if (!keys->second.insert(slice.key).second)
        fail_damaged(place, format("two slices are {} in file {}", slice.key, slice.file));
      regions.push_back(slice.region);
    }
    static_cast<void>(cover(whole(tensor.shape), regions, place));
  }
}

std::string to_json(const Manifest& manifest) {
  const RunState& run = manifest.run;
  Json json = contents_json(manifest.contents);
  json["format"] = kManifestFormat;
  json["version"] = kManifestVersion;
  json["iteration"] = run.iteration;
  json["consumed_samples"] = run.consumed_samples;
  json["scheduler_samples"] = run.scheduler_samples;
  json["adam_step"] = run.adam_step;
  json["seed"] = run.seed;
  json["ranks"] = {{"pipeline", run.ranks.pipeline()},
                   {"tensor", run.ranks.tensor()},
                   {"data", run.ranks.data()}};
  json["options"] = run.options;
  try {
    std::string text = "{\n";
    for (const std::string_view member : kMembers) {
      const Json& value = json.at(std::string(member));
      text += format("  \"{}\": {},\n", member, value.is_array() ? in_lines(value) : value.dump());
    }
    return text + format("  \"checksum\": \"{}\"\n}}\n", checksum_of(json));
  } catch (const Json::type_error&) {
    fail({.where = kManifestFile,
          .what = "the options or a tensor's name are not UTF-8",
          .rule = "JSON and TOML are UTF-8",
          .remedy = "use paths and names that are UTF-8"});
  }
}

Manifest manifest_from_json(std::string_view text, const std::string& where) {
  Json json = parse_strict(text, where);
  require_version(json, where);
  if (!json.contains("checksum")) fail_damaged(where, "no member \"checksum\"");
  const std::string stored = text_of(json, "checksum", where);
  json.erase("checksum");
  if (const std::string found = checksum_of(json); found != stored)
    fail_damaged(where, format("checksum {} of the content, {} stored", found, stored));
  require_members(json, kMembers, where);
  Manifest manifest = {.run = {.iteration = natural(json, "iteration", where),
                               .consumed_samples = natural(json, "consumed_samples", where),
                               .scheduler_samples = natural(json, "scheduler_samples", where),
                               .adam_step = natural(json, "adam_step", where),
                               .seed = natural(json, "seed", where),
                               .ranks = ranks_in(json, where),
                               .options = text_of(json, "options", where)},
                       .contents = contents_in(json, where)};
  require_whole(manifest.contents, where);
  return manifest;
}

std::string to_json(const Contents& contents) {
  return contents_json(contents).dump();
}

Contents contents_from_json(std::string_view text, const std::string& where) {
  const Json json = parse_strict(text, where);
  require_members(json, {"files", "tensors"}, where);
  return contents_in(json, where);
}

}  // namespace trireme::checkpoint
