#pragma once
// How this room reads JSON: nothing is guessed, nothing is passed over. For sources only, so that
// the JSON library stays inside the room.

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace trireme::text {

using Json = nlohmann::json;

/// As a JSON string, with everything that does not print escaped, for messages.
[[nodiscard]] std::string shown(std::string_view text);

/// Throws, with `name` in front, for invalid JSON (with line and column), a member that an object
/// has twice, and nesting deeper than any file we read.
[[nodiscard]] Json parse_strict(std::string_view text, const std::string& name);

/// A value inside a document that knows its place: "tokenizer.json: model.merges[7]". The document
/// must outlive it. A member that is not there reads as null.
class JsonNode {
 public:
  JsonNode(const Json& document, std::string name) : value_(&document), name_(std::move(name)) {}

  [[nodiscard]] const Json& value() const { return *value_; }
  [[nodiscard]] bool is_null() const { return value_->is_null(); }
  [[nodiscard]] std::string where() const { return path_.empty() ? name_ : name_ + ": " + path_; }

  [[noreturn]] void refuse(const std::string& what, const std::string& rule = {},
                           const std::string& remedy = {}) const;

  /// Throw unless it is an object; an array.
  [[nodiscard]] JsonNode member(const char* key) const;
  [[nodiscard]] JsonNode element(size_t index) const;
  [[nodiscard]] size_t elements() const;
  /// Throws unless it is an object without other members than these.
  void require_known(std::initializer_list<std::string_view> members) const;

  /// Throw when it is something else; a number must be from 0 to `most`.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool truth() const;
  [[nodiscard]] int64_t number(int64_t most) const;

  /// What it is, in short.
  [[nodiscard]] std::string found() const;

 private:
  [[nodiscard]] JsonNode below(const Json& value, const std::string& step) const;

  const Json* value_;
  std::string name_;
  std::string path_;
};

}  // namespace trireme::text
