#include "text/tokenizer_json.h"

#include <nlohmann/json.hpp>

#include "text/byte_alphabet.h"
#include "text/test_support.h"

namespace trireme::text {
namespace {

using Json = nlohmann::json;

/// A sound tokenizer.json, to be damaged.
class TokenizerJson : public FolderTest {
 protected:
  TokenizerJson() {
    Json vocab = Json::object();
    for (const uint8_t byte : bytes_by_letter())
      vocab[to_letters({reinterpret_cast<const char*>(&byte), 1})] = vocab.size();
    vocab["oa"] = 256;
    vocab["oar"] = 257;
    vocab["\u0120oar"] = 258;
    const auto added = [](int id, const char* content, bool special) {
      return Json{{"id", id},          {"content", content}, {"single_word", false},
                  {"lstrip", false},   {"rstrip", false},    {"normalized", false},
                  {"special", special}};
    };
    document_ = {{"version", "1.0"},
                 {"truncation", nullptr},
                 {"padding", nullptr},
                 {"normalizer", nullptr},
                 {"added_tokens",
                  Json::array({added(259, "<|end_of_text|>", true), added(260, "<tool>", false)})},
                 {"pre_tokenizer",
                  {{"type", "Sequence"},
                   {"pretokenizers", Json::array({{{"type", "Split"},
                                                   {"pattern", {{"Regex", kLlama3Pattern}}},
                                                   {"behavior", "Isolated"},
                                                   {"invert", false}},
                                                  {{"type", "ByteLevel"},
                                                   {"add_prefix_space", false},
                                                   {"trim_offsets", true},
                                                   {"use_regex", false}}})}}},
                 {"post_processor", nullptr},
                 {"decoder", {{"type", "ByteLevel"}}},
                 {"model",
                  {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"byte_fallback", false},
                   {"ignore_merges", true},
                   {"vocab", vocab},
                   {"merges", Json::array({"o a", {"oa", "r"}, "\u0120 oar"})}}}};
  }

  [[nodiscard]] Vocabulary read() const { return parse_tokenizer_json(document_.dump(), "t.json"); }

  /// With one value of the document replaced; "" for null removes nothing.
  [[nodiscard]] std::string message_with(const std::string& pointer, const Json& value) const {
    Json changed = document_;
    changed[Json::json_pointer(pointer)] = value;
    return message_of([&] { (void)parse_tokenizer_json(changed.dump(), "t.json"); });
  }

  Json document_;
};

TEST_F(TokenizerJson, IsReadWhole) {
  const Vocabulary vocabulary = read();
  EXPECT_EQ(vocabulary.tokens.size(), 261U);
  EXPECT_EQ(vocabulary.tokens[258], " oar");
  EXPECT_EQ(vocabulary.results, (std::vector<int32_t>{256, 257, 258}));
  EXPECT_EQ(vocabulary.special, std::vector<int32_t>{259});
  EXPECT_EQ(vocabulary.added, std::vector<int32_t>{260});
  EXPECT_EQ(vocabulary.split_pattern, kLlama3Pattern);
  EXPECT_TRUE(vocabulary.ignore_merges);
  EXPECT_EQ(Tokenizer(vocabulary).end_of_text(), 259);
}

TEST_F(TokenizerJson, WhatChangesNoTokenIsRead) {
  const Vocabulary plain = read();
  Json& model = document_["model"];
  model.erase("type");
  model["dropout"] = 0.0;
  model["unk_token"] = "<tool>";
  model["fuse_unk"] = true;
  model["continuing_subword_prefix"] = "";
  model["end_of_word_suffix"] = "";
  document_.erase("truncation");
  document_["post_processor"] = {
      {"type", "Sequence"},
      {"processors", Json::array({{{"type", "ByteLevel"}, {"trim_offsets", true}},
                                  {{"type", "TemplateProcessing"}, {"single", Json::array()}}})}};
  document_["added_tokens"][0]["normalized"] = true;
  EXPECT_EQ(read(), plain);
}

TEST_F(TokenizerJson, Gpt2sFormIsRead) {
  document_["pre_tokenizer"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  document_["model"].erase("ignore_merges");
  // Its special token stands in the vocabulary too, and needs not be last.
  document_["model"]["vocab"]["<|end_of_text|>"] = 259;
  const Vocabulary vocabulary = read();
  EXPECT_EQ(vocabulary.split_pattern, kGpt2Pattern);
  EXPECT_FALSE(vocabulary.ignore_merges);
  EXPECT_EQ(vocabulary.special, std::vector<int32_t>{259});
}

TEST_F(TokenizerJson, ATextAsSplitIsThatText) {
  document_["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {{"String", "a.b"}};
  EXPECT_EQ(read().split_pattern, R"(a\.b)");
}

TEST_F(TokenizerJson, TokensThatNoMergeMakesAreReadForWholePieces) {
  document_["model"]["vocab"]["oars"] = 259;
  document_["added_tokens"][0]["id"] = 260;
  document_["added_tokens"][1]["id"] = 261;
  const Tokenizer tokenizer(read());
  EXPECT_EQ(tokenizer.encode("oars"), std::vector<int32_t>{259});
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("oars")), "oars");
}

TEST_F(TokenizerJson, WhatWouldChangeTheTokensIsRefusedByTheNameOfItsKey) {
  const std::string steps = "/pre_tokenizer/pretokenizers";
  for (const auto& [pointer, value, key] : std::vector<std::tuple<std::string, Json, std::string>>{
           {"/version", "2.0", "version: is \"2.0\""},
           {"/truncation", {{"max_length", 512}}, "truncation: is an object"},
           {"/padding", {{"strategy", "BatchLongest"}}, "padding: is an object"},
           {"/normalizer", {{"type", "NFC"}}, "normalizer.type: is \"NFC\""},
           {"/later", 1, "\"later\": is not known"},
           {"/model/type", "Unigram", "model.type: is \"Unigram\""},
           {"/model/type", "WordPiece", "model.type: is \"WordPiece\""},
           {"/model/type", "WordLevel", "model.type: is \"WordLevel\""},
           {"/model/dropout", 0.1, "model.dropout: is 0.1"},
           {"/model/byte_fallback", true, "model.byte_fallback: is true"},
           {"/model/continuing_subword_prefix", "##", "model.continuing_subword_prefix: is \"##\""},
           {"/model/end_of_word_suffix", "</w>", "model.end_of_word_suffix: is \"</w>\""},
           {"/model/ignore_merges", 1, "model.ignore_merges: is 1"},
           {"/model/cache", 1, "model.\"cache\": is not known"},
           {"/decoder", nullptr, "decoder: is null"},
           {"/decoder/type", "Metaspace", "decoder.type: is \"Metaspace\""},
           {"/post_processor", {{"type", "RobertaProcessing"}}, "post_processor.type"},
           {"/pre_tokenizer", nullptr, "pre_tokenizer: is null"},
           {"/pre_tokenizer", {{"type", "Metaspace"}}, "pre_tokenizer.type: is \"Metaspace\""},
           {"/pre_tokenizer", {{"type", "ByteLevel"}}, "pre_tokenizer.add_prefix_space"},
           {"/pre_tokenizer",
            {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}},
            "pre_tokenizer.use_regex: is false"},
           {steps + "/0/type", "Digits", "pretokenizers[0].type: is \"Digits\""},
           {steps + "/2", {{"type", "Digits"}}, "pretokenizers[2].type: is \"Digits\""},
           {steps + "/2", {{"type", "ByteLevel"}}, "pretokenizers: has 3 steps"},
           {steps + "/0/behavior", "Removed", "pretokenizers[0].behavior: is \"Removed\""},
           {steps + "/0/invert", true, "pretokenizers[0].invert: is true"},
           {steps + "/0/pattern", {{"Regex", "a"}, {"String", "a"}}, "pattern: has not one of"},
           {steps + "/0/pattern/Regex", R"(\w+)", "pattern.Regex: split pattern: at offset 0"},
           {steps + "/0/pattern/Regex", R"(\s*)", "pattern.Regex: split pattern"},
           {steps + "/1/use_regex", true, "pretokenizers[1].use_regex: is true"},
           {steps + "/1/add_prefix_space", true, "pretokenizers[1].add_prefix_space: is true"},
           {"/added_tokens/0/single_word", true, "added_tokens[0].single_word: is true"},
           {"/added_tokens/0/lstrip", true, "added_tokens[0].lstrip: is true"},
           {"/added_tokens/1/rstrip", true, "added_tokens[1].rstrip: is true"},
           {"/added_tokens/1/special", nullptr, "added_tokens[1].special: is null or missing"},
           {"/added_tokens/1/later", 1, "added_tokens[1].\"later\": is not known"}}) {
    const std::string message = message_with(pointer, value);
    EXPECT_NE(message.find("t.json: "), std::string::npos) << message;
    EXPECT_NE(message.find(key), std::string::npos) << key << "\nis not in: " << message;
  }
}

TEST_F(TokenizerJson, WhatDoesNotFitTogetherIsRefused) {
  for (const auto& [pointer, value, part] : std::vector<std::tuple<std::string, Json, std::string>>{
           {"/model", nullptr, "model: is null"},
           {"/model/vocab", nullptr, "model.vocab: is null"},
           {"/model/vocab/oa", "x", "key \"oa\" has the value \"x\""},
           {"/model/vocab/oa", -1, "key \"oa\" has the value -1"},
           {"/model/vocab/oa", 257, "has id 257, like key"},
           {"/model/vocab/later", 300, "has id 300, but no key has id 261"},
           {"/model/vocab/\u0120", nullptr, "key \"\\u0120\" has the value null"},
           {"/model/vocab/<tool>", 7, "is 260, but \"<tool>\" has id 7"},
           {"/model/merges", nullptr, "model.merges: is null"},
           {"/model/merges/1", "oar", "model.merges[1]: is no merge"},
           {"/model/merges/1", "a b c", "model.merges[1]: is no merge"},
           {"/model/merges/1", {"a", 1}, "model.merges[1]: is no merge"},
           {"/model/merges/2", "o a", "merge 3: merges the same pair as merge 1"},
           {"/model/merges/2", "oar s", "merge 3: \"oars\" has no entry"},
           {"/added_tokens/0/content", "", "content: is empty"},
           {"/added_tokens/0/content", "<tool>", "\"<tool>\" stands there twice"},
           {"/added_tokens/0/content", " oar", "added_tokens[0]: means the same bytes"},
           {"/added_tokens/0/id", 260, "is 260 behind 260"},
           {"/added_tokens/0/id", "x", "added_tokens[0].id: is \"x\""}}) {
    const std::string message = message_with(pointer, value);
    EXPECT_NE(message.find("t.json: "), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << part << "\nis not in: " << message;
  }
}

TEST_F(TokenizerJson, AnAddedTokenThatMergesMakeOrJoinIsRefused) {
  document_["added_tokens"][0]["content"] = "oa";
  document_["added_tokens"][0]["id"] = 256;
  document_["added_tokens"][1]["id"] = 259;
  EXPECT_NE(message_of([&] { (void)read(); }).find("or merges make it too"), std::string::npos);
  document_["model"]["merges"] = Json::array({{"oa", "r"}, {"\u0120", "oar"}});
  EXPECT_NE(message_of([&] { (void)read(); }).find("merge 1: \"oa\" is an added token"),
            std::string::npos);
}

TEST_F(TokenizerJson, AddedTokensOfTwoKindsThatCanOverlapAreRefused) {
  for (const char* text : {"<tool><x>", "<<tool", "ol>x", "x>"}) {
    document_["added_tokens"][0]["content"] = text;
    document_["added_tokens"][0]["normalized"] = true;
    const std::string message = message_of([&] { (void)read(); });
    const bool overlaps = std::string_view(text) != "x>";
    EXPECT_EQ(message.find("can overlap") != std::string::npos, overlaps) << message;
    document_["added_tokens"][0]["normalized"] = false;
    EXPECT_EQ(message_of([&] { (void)read(); }), "no error");
  }
}

TEST(TokenizerJsonText, WhatIsNoObjectIsRefused) {
  const std::string sentencepiece("\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02", 16);
  for (const std::string& text : {sentencepiece, std::string("IQ== 0\nIg== 1\n"), std::string(),
                                  std::string(" \n"), std::string("[1]")}) {
    const std::string message = message_of([&] { (void)parse_tokenizer_json(text, "a.model"); });
    EXPECT_NE(message.find("a.model: is no JSON object"), std::string::npos) << message;
    EXPECT_NE(message.find("SentencePiece"), std::string::npos) << message;
  }
  const auto message = [](const std::string& text) {
    return message_of([&] { (void)parse_tokenizer_json(text, "t.json"); });
  };
  EXPECT_NE(message("{\"model\": {").find("t.json: parse error at line 1, column"),
            std::string::npos);
  EXPECT_NE(message(R"({"a": 1, "a": 2})").find("key \"a\": stands there twice"),
            std::string::npos);
  EXPECT_NE(message("{\"a\":" + std::string(50, '[') + std::string(50, ']') + "}").find("nested"),
            std::string::npos);
  EXPECT_NE(message("{\"\xFF\": 1}").find("invalid string"), std::string::npos);
}

TEST_F(TokenizerJson, WrittenAndReadItIsTheSame) {
  std::vector<Vocabulary> vocabularies = {read(), small_tokenizer().vocabulary()};
  vocabularies.push_back(vocabularies[0]);
  vocabularies.back().tokens.emplace_back("<\u00e9\n\"\\\u4e09\u0120>");  // not for vocab.json
  vocabularies.back().special.push_back(261);
  vocabularies.push_back(small_tokenizer().vocabulary());
  vocabularies.back().split_pattern = R"(\p{Greek}"|\\|[^\p{Greek}"\\]+)";
  document_["model"]["vocab"]["<|end_of_text|>"] = 0;  // "!" is the 256th
  document_["model"]["vocab"]["!"] = 259;
  document_["added_tokens"][0]["id"] = 0;
  vocabularies.push_back(read());
  for (const Vocabulary& vocabulary : vocabularies) {
    const std::string text = to_tokenizer_json(vocabulary);
    EXPECT_EQ(parse_tokenizer_json(text, "t.json"), vocabulary) << text.substr(0, 1000);
  }
}

TEST_F(TokenizerJson, AFolderIsReadAsItWasSaved) {
  const Tokenizer gpt2_style(small_tokenizer().vocabulary());
  const Tokenizer llama3_style(read());
  gpt2_style.save(folder_ / "a");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "a" / "merges.txt"));
  EXPECT_EQ(Tokenizer::load(folder_ / "a").vocabulary(), gpt2_style.vocabulary());
  EXPECT_EQ(Tokenizer::load(folder_ / "a" / "tokenizer.json").vocabulary(),
            gpt2_style.vocabulary());
  std::filesystem::remove(folder_ / "a" / "tokenizer.json");
  EXPECT_EQ(Tokenizer::load(folder_ / "a").vocabulary(), gpt2_style.vocabulary());

  llama3_style.save(folder_ / "b");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b" / "vocab.json"));
  EXPECT_EQ(Tokenizer::load(folder_ / "b").vocabulary(), llama3_style.vocabulary());
}

TEST_F(TokenizerJson, VocabJsonIsWrittenOnlyWhereItSaysEverything) {
  const auto writes = [&](const auto& change) {
    Vocabulary vocabulary = small_tokenizer().vocabulary();
    change(vocabulary);
    small_tokenizer().save(folder_);  // whose vocab.json must not stay beside another's
    write_vocabulary(vocabulary, folder_);
    EXPECT_EQ(read_vocabulary(folder_).tokens, vocabulary.tokens);
    return std::filesystem::exists(folder_ / "vocab.json");
  };
  EXPECT_TRUE(writes([](Vocabulary& /*same*/) {}));
  EXPECT_TRUE(writes([](Vocabulary& v) { v.end_of_document = v.special[0]; }));
  EXPECT_FALSE(writes([](Vocabulary& v) { v.ignore_merges = true; }));
  EXPECT_FALSE(writes([](Vocabulary& v) { v.added = std::exchange(v.special, {}); }));
  EXPECT_FALSE(writes([](Vocabulary& v) { v.tokens.back() = "<\u00e9>"; }));
  EXPECT_FALSE(writes([](Vocabulary& v) { v.split_pattern = kLlama3Pattern; }));
  EXPECT_FALSE(writes([](Vocabulary& v) { v.merges.pop_back(), v.results.pop_back(); }));
}

TEST_F(TokenizerJson, AFolderWithoutATokenizerIsRefused) {
  EXPECT_NE(message_of([&] { (void)Tokenizer::load(folder_); }).find("has no tokenizer.json"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)Tokenizer::load(folder_ / "absent"); }).find("No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace trireme::text
