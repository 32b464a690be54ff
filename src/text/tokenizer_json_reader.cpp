// tokenizer.json, read.

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "text/byte_alphabet.h"
#include "text/json_node.h"
#include "text/split.h"
#include "text/tokenizer_json.h"
#include "text/vocabulary_parts.h"

namespace trireme::text {
namespace {

constexpr const char* kOnlyByteLevel =
    "byte-level BPE is read, as GPT-2 and Llama 3 have it, and nothing that changes its tokens";

[[noreturn]] void refuse_value(const JsonNode& node, const std::string& rule) {
  node.refuse(node.found(), rule + "; " + kOnlyByteLevel);
}

void require_null(const JsonNode& node) {
  if (node.is_null()) return;
  const bool typed = node.value().is_object() && node.value().contains("type");
  if (typed) refuse_value(node.member("type"), "there must be none");
  refuse_value(node, "it must be null");
}

/// A truth value that has an effect and must be this; null and a missing one are the default.
void require_truth(const JsonNode& object, const char* key, bool value, bool otherwise) {
  const JsonNode node = object.member(key);
  const bool found = node.is_null() ? otherwise : node.truth();
  if (found != value) refuse_value(node, format("it must be {}", value));
}

std::string type_of(const JsonNode& object) {
  return object.member("type").text();
}

/// Throws unless the step is ByteLevel; says whether it cuts by GPT-2's pattern.
bool byte_level_cuts(const JsonNode& step) {
  if (type_of(step) != "ByteLevel") refuse_value(step.member("type"), "\"ByteLevel\" is expected");
  step.require_known({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  require_truth(step, "add_prefix_space", false, true);
  const JsonNode use_regex = step.member("use_regex");
  return use_regex.is_null() || use_regex.truth();
}

std::string pattern_of_split(const JsonNode& split) {
  if (type_of(split) != "Split") refuse_value(split.member("type"), "\"Split\" is expected");
  split.require_known({"type", "pattern", "behavior", "invert"});
  if (split.member("behavior").text() != "Isolated")
    refuse_value(split.member("behavior"), "it must be \"Isolated\"");
  require_truth(split, "invert", false, false);
  const JsonNode pattern = split.member("pattern");
  pattern.require_known({"Regex", "String"});
  const JsonNode regex = pattern.member("Regex");
  const JsonNode string = pattern.member("String");
  if (regex.is_null() == string.is_null())
    pattern.refuse("has not one of \"Regex\" and \"String\"");
  const JsonNode& given = regex.is_null() ? string : regex;
  std::string text = regex.is_null() ? pattern_of_text(given.text()) : given.text();
  try {
    const Splitter compiles(text);
  } catch (const Error& error) {
    Trouble trouble = error.trouble();
    trouble.where = format("{}: {}", given.where(), trouble.where);
    fail(trouble);
  }
  return text;
}

std::string split_pattern(const JsonNode& pre_tokenizer) {
  if (pre_tokenizer.is_null()) refuse_value(pre_tokenizer, "bytes must become letters there");
  if (type_of(pre_tokenizer) != "Sequence") {
    if (!byte_level_cuts(pre_tokenizer))
      refuse_value(pre_tokenizer.member("use_regex"), "a text must be cut into pieces");
    return std::string(kGpt2Pattern);
  }
  pre_tokenizer.require_known({"type", "pretokenizers"});
  const JsonNode steps = pre_tokenizer.member("pretokenizers");
  if (steps.elements() != 2) {
    for (size_t step = 0; step < steps.elements(); ++step) {
      const std::string type = type_of(steps.element(step));
      if (type != "Split" && type != "ByteLevel")
        refuse_value(steps.element(step).member("type"), "Split and ByteLevel are expected");
    }
    steps.refuse(format("has {} steps", steps.elements()), "one Split and ByteLevel are expected");
  }
  std::string pattern = pattern_of_split(steps.element(0));
  if (byte_level_cuts(steps.element(1)))
    refuse_value(steps.element(1).member("use_regex"), "pieces must not be cut once more");
  return pattern;
}

/// Throws for a step that does more than add tokens around a text, which is left to the caller.
void check_post_processor(const JsonNode& step) {
  if (step.is_null()) return;
  const std::string type = type_of(step);
  if (type == "Sequence") {
    const JsonNode steps = step.member("processors");
    for (size_t index = 0; index < steps.elements(); ++index) {
      const JsonNode inner = steps.element(index);
      if (inner.is_null() || type_of(inner) == "Sequence")
        refuse_value(inner, "it must be one step");
      check_post_processor(inner);
    }
  } else if (type != "ByteLevel" && type != "TemplateProcessing") {
    refuse_value(step.member("type"), "\"ByteLevel\" or \"TemplateProcessing\" is expected");
  }
}

void check_around_model(const JsonNode& root) {
  root.require_known({"version", "truncation", "padding", "added_tokens", "normalizer",
                      "pre_tokenizer", "post_processor", "decoder", "model"});
  const JsonNode version = root.member("version");
  if (!version.is_null() && version.text() != "1.0")
    version.refuse(version.found(), "version 1.0 is read");
  for (const char* key : {"truncation", "padding", "normalizer"}) require_null(root.member(key));
  const JsonNode decoder = root.member("decoder");
  if (decoder.is_null()) refuse_value(decoder, "\"ByteLevel\" is expected");
  if (type_of(decoder) != "ByteLevel")
    refuse_value(decoder.member("type"), "\"ByteLevel\" is expected");
  check_post_processor(root.member("post_processor"));
}

void check_model(const JsonNode& model) {
  const JsonNode type = model.member("type");
  // The oldest files have no type, but only BPE has merges.
  if (type.is_null()) {
    if (model.member("merges").is_null()) refuse_value(type, "it must be \"BPE\"");
  } else if (type.text() != "BPE") {
    refuse_value(type, "it must be \"BPE\"");
  }
  model.require_known({"type", "dropout", "unk_token", "continuing_subword_prefix",
                       "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab",
                       "merges"});
  const JsonNode dropout = model.member("dropout");
  if (!dropout.is_null() && dropout.value() != 0) refuse_value(dropout, "it must be null");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const JsonNode node = model.member(key);
    if (!node.is_null() && !node.text().empty()) refuse_value(node, "it must be null");
  }
  // unk_token and fuse_unk have no effect: no byte is unknown.
  require_truth(model, "byte_fallback", false, false);
}

/// An entry of added_tokens.
struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool special = false;
  bool normalized = false;  // looked for after all those that are not
};

/// Whether some text has both, one of them beginning inside the other.
bool can_overlap(std::string_view a, std::string_view b) {
  if (a.find(b) != a.npos || b.find(a) != b.npos) return true;
  for (size_t length = 1; length < std::min(a.size(), b.size()); ++length) {
    if (a.ends_with(b.substr(0, length)) || b.ends_with(a.substr(0, length))) return true;
  }
  return false;
}

AddedToken read_added_token(const JsonNode& entry) {
  entry.require_known(
      {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token;
  token.text = entry.member("content").text();
  if (token.text.empty()) entry.member("content").refuse("is empty and stands for nothing");
  token.id = static_cast<int32_t>(entry.member("id").number(kMaxTokenId));
  for (const char* key : {"single_word", "lstrip", "rstrip"})
    require_truth(entry, key, false, false);
  token.special = entry.member("special").truth();
  token.normalized = entry.member("normalized").truth();
  return token;
}

std::vector<AddedToken> read_added_tokens(const JsonNode& list) {
  std::vector<AddedToken> tokens;
  if (list.is_null()) return tokens;
  std::unordered_set<std::string> texts;
  for (size_t index = 0; index < list.elements(); ++index) {
    tokens.push_back(read_added_token(list.element(index)));
    const std::string& text = tokens.back().text;
    if (!texts.insert(text).second)
      list.element(index).refuse(format("{} stands there twice", shown(text)));
  }
  for (const AddedToken& late : tokens) {
    if (!late.normalized) continue;
    for (const AddedToken& early : tokens) {
      if (early.normalized || !can_overlap(late.text, early.text)) continue;
      list.refuse(format("{} is \"normalized\" and {} is not, and they can overlap in a text",
                         shown(late.text), shown(early.text)),
                  "the leftmost is taken, and of two at one place the longest",
                  "give both the same value if that is what is meant");
    }
  }
  return tokens;
}

Ids read_ids(const JsonNode& vocab) {
  if (!vocab.value().is_object()) vocab.refuse(vocab.found(), "it must be an object");
  Ids ids;
  for (const auto& [key, value] : vocab.value().items()) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > kMaxTokenId) {
      vocab.refuse(format("key {} has the value {}", shown(key),
                          value.is_structured() ? value.type_name() : value.dump(-1, ' ', true)),
                   "the value of every key is its id, a whole number from 0");
    }
    ids.emplace(key, value.get<int32_t>());
  }
  return ids;
}

/// Adds the tokens that the model does not have. Hugging Face numbers those itself, in their order,
/// whatever ids they are given.
void add_ids(const JsonNode& list, const std::vector<AddedToken>& tokens, Ids& ids) {
  int32_t last = -1;
  for (size_t index = 0; index < tokens.size(); ++index) {
    const AddedToken& token = tokens[index];
    const auto [entry, is_new] = ids.try_emplace(token.text, token.id);
    const JsonNode id = list.element(index).member("id");
    if (entry->second != token.id) {
      id.refuse(format("is {}, but {} has id {} in the vocabulary", token.id, shown(token.text),
                       entry->second));
    }
    if (!is_new) continue;
    if (token.id <= last) id.refuse(format("is {} behind {}", token.id, last), "ids must ascend");
    last = token.id;
  }
}

void read_merges(const JsonNode& list, MergeTaker& merges) {
  for (size_t index = 0; index < list.elements(); ++index) {
    const Json& merge = list.value()[index];
    const auto number = static_cast<int64_t>(index) + 1;
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      merges.take(merge[0].get<std::string>(), merge[1].get<std::string>(), number);
      continue;
    }
    const std::string pair = merge.is_string() ? merge.get<std::string>() : "";
    const size_t space = pair.find(' ');
    if (space == pair.npos || pair.find(' ', space + 1) != pair.npos) {
      list.element(index).refuse("is no merge",
                                 "a merge is two tokens: [\"a\", \"b\"], or \"a b\"");
    }
    merges.take(pair.substr(0, space), pair.substr(space + 1), number);
  }
}

/// The bytes of a token of the model.
std::string bytes_of(const JsonNode& vocab, const std::string& key) {
  std::optional<std::string> bytes = from_letters(key);
  if (!bytes || bytes->empty()) {
    vocab.refuse(format("key {} has a character that stands for no byte", shown(key)),
                 kOnlyByteLevel);
  }
  return std::move(*bytes);
}

}  // namespace

Vocabulary parse_tokenizer_json(std::string_view json, const std::string& name) {
  const size_t first = json.find_first_not_of(" \t\r\n");
  if (first == json.npos || json[first] != '{') {
    fail({.where = name,
          .what = "is no JSON object",
          .rule = "a tokenizer is read from tokenizer.json, as Hugging Face's tokenizers write it",
          .remedy =
              "a tokenizer.model (SentencePiece, or tiktoken's list) is not supported: take "
              "the tokenizer.json that is published with it, if its model is byte-level BPE"});
  }
  const Json document = parse_strict(json, name);
  const JsonNode root(document, name);
  const JsonNode model = root.member("model");
  check_model(model);
  check_around_model(root);

  Vocabulary vocabulary;
  vocabulary.split_pattern = split_pattern(root.member("pre_tokenizer"));
  vocabulary.ignore_merges =
      !model.member("ignore_merges").is_null() && model.member("ignore_merges").truth();

  const JsonNode vocab = model.member("vocab");
  const JsonNode added_list = root.member("added_tokens");
  const std::vector<AddedToken> added = read_added_tokens(added_list);
  Ids ids = read_ids(vocab);
  require_bytes(vocab.where(), ids);
  add_ids(added_list, added, ids);
  const std::vector<const std::string*> keys = order_by_id(name, ids);
  MergeTaker merges(model.where() + ": merges,", "merge", ids, vocabulary);
  read_merges(model.member("merges"), merges);

  std::vector<bool> is_added(keys.size());
  for (size_t index = 0; index < added.size(); ++index) {
    const AddedToken& token = added[index];
    const auto id = static_cast<size_t>(token.id);
    const JsonNode node = added_list.element(index);
    is_added[id] = true;
    require_no_twin(node.where(), token.text, ids);
    if (merges.makes(id) || token.text.size() == 1)
      node.refuse(format("{} is a byte, or merges make it too", shown(token.text)));
    (token.special ? vocabulary.special : vocabulary.added).push_back(token.id);
  }
  std::sort(vocabulary.special.begin(), vocabulary.special.end());
  std::sort(vocabulary.added.begin(), vocabulary.added.end());
  for (size_t index = 0; index < vocabulary.merges.size(); ++index) {
    const Merge& merge = vocabulary.merges[index];
    for (const int32_t id : {merge.left, merge.right}) {
      if (!is_added[static_cast<size_t>(id)]) continue;
      fail({.where = merges.where(static_cast<int64_t>(index) + 1),
            .what = format("{} is an added token", shown(*keys[static_cast<size_t>(id)])),
            .rule = "merges join tokens that merges make, and bytes"});
    }
  }
  for (size_t id = 0; id < keys.size(); ++id)
    vocabulary.tokens.push_back(is_added[id] ? *keys[id] : bytes_of(vocab, *keys[id]));
  return vocabulary;
}

Vocabulary read_tokenizer_json(const Path& file) {
  return parse_tokenizer_json(read_file(file), file.string());
}

}  // namespace trireme::text
