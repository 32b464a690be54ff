#include "checkpoint/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/error.h"

namespace trireme::checkpoint {
namespace {

Manifest two_rank_manifest() {
  const TensorSpec qkv = {.name = "decoder.qkv.weight", .dtype = DType::bf16, .shape = {6, 4}};
  const TensorSpec step = {.name = "step", .dtype = DType::i64, .shape = {}};
  const std::vector<Contents> parts = {
      {.files = {{"model-t0.safetensors", 200, "00000000000000aa"}},
       .tensors = {{qkv, {{{{0, 0}, {3, 4}}, "model-t0.safetensors", "qkv[0:3,0:4]", "01"}}},
                   {step, {{{{}, {}}, "model-t0.safetensors", "step", "02"}}}}},
      {.files = {{"model-t1.safetensors", 180, "00000000000000bb"}},
       .tensors = {{qkv, {{{{3, 0}, {3, 4}}, "model-t1.safetensors", "qkv[3:6,0:4]", "03"}}}}}};
  return {.run = {.iteration = 100,
                  .consumed_samples = 6400,
                  .scheduler_samples = 6336,
                  .adam_step = 99,
                  .seed = 1234,
                  .ranks = {1, 2, 1},
                  .options = "lr = 6e-4\n[data]\npath = \"caf\xc3\xa9\"\n"},
          .contents = merge(parts)};
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string refusal_of(const std::string& text) {
  return refusal([&] { static_cast<void>(manifest_from_json(text, "CK/manifest.json")); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Manifest, ComesBackFromItsText) {
  const Manifest manifest = two_rank_manifest();
  EXPECT_EQ(manifest_from_json(to_json(manifest), "test"), manifest);
  EXPECT_EQ(contents_from_json(to_json(manifest.contents), "test"), manifest.contents);
  EXPECT_EQ(manifest.contents.tensors[0].slices.size(), 2U);
  EXPECT_EQ(manifest.contents.find("step")->tensor.dtype, DType::i64);
  EXPECT_EQ(manifest.contents.find("nothing"), nullptr);
}

TEST(Manifest, DoesNotDependOnHowItsTextIsLaidOut) {
  std::string text = to_json(two_rank_manifest());
  std::replace(text.begin(), text.end(), '\n', ' ');
  EXPECT_EQ(manifest_from_json(text, "test"), two_rank_manifest());
}

TEST(Manifest, OfAnUnknownVersionIsRefusedWithWhatThisProgramReads) {
  const std::string text = to_json(two_rank_manifest());
  EXPECT_EQ(refusal_of(replaced(text, "\"version\": 1,", "\"version\": 2,")),
            "CK/manifest.json: format trireme-checkpoint version 2; this program reads version 1; "
            "use the program that wrote it, or a newer one");
  const std::string format = refusal_of(replaced(text, "trireme-checkpoint", "trireme-other"));
  EXPECT_NE(format.find("not a manifest"), std::string::npos) << format;
}

TEST(Manifest, ChangedInAnyByteIsRefusedOrEqual) {
  const Manifest manifest = two_rank_manifest();
  const std::string text = to_json(manifest);
  int equal = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    for (const int bits : {0x01, 0x04, 0x20, 0x80}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ bits);
      try {
        EXPECT_EQ(manifest_from_json(changed, "test"), manifest) << i;
        ++equal;
      } catch (const Error&) {
      }
    }
  }
  EXPECT_LT(equal, 50);  // white space
}

TEST(Manifest, TruncatedAtAnyLengthIsRefused) {
  const std::string text = to_json(two_rank_manifest());
  for (size_t length = 0; length + 1 < text.size(); ++length)
    EXPECT_NE(refusal_of(text.substr(0, length)), "") << length;
}

TEST(Manifest, OfContentsThatAreNotWholeIsRefused) {
  const auto expect = [](const std::string& words, const std::function<void(Manifest&)>& spoil) {
    Manifest manifest = two_rank_manifest();
    spoil(manifest);
    // The writer's side and the reader's: a checksum does not make it right.
    const std::string written =
        refusal([&] { require_whole(manifest.contents, "CK/manifest.json"); });
    EXPECT_NE(written.find(words), std::string::npos) << written;
    EXPECT_EQ(refusal_of(to_json(manifest)), written);
  };
  const auto slice = [](Manifest& manifest, size_t which) -> StoredSlice& {
    return manifest.contents.tensors[0].slices[which];
  };
  expect("tensor decoder.qkv.weight: of the 24 elements [0:6,0:4] only 12 are stored",
         [](Manifest& m) { m.contents.tensors[0].slices.pop_back(); });
  expect("tensor decoder.qkv.weight: elements [2:3,0:4] are stored more than once",
         [&](Manifest& m) {
           slice(m, 1).region = {{2, 0}, {4, 4}};
         });
  expect("tensor decoder.qkv.weight: a slice at [4, 0] of [3, 4] elements in a tensor of [6, 4]",
         [&](Manifest& m) {
           slice(m, 1).region = {{4, 0}, {3, 4}};
         });
  expect("tensor decoder.qkv.weight: a slice at [3]", [&](Manifest& m) {
    slice(m, 1).region = {{3}, {3}};
  });
  expect("file gone.safetensors is not in the list",
         [&](Manifest& m) { slice(m, 1).file = "gone.safetensors"; });
  expect("two slices are qkv[0:3,0:4] in file model-t0", [&](Manifest& m) {
    slice(m, 1).file = slice(m, 0).file;
    slice(m, 1).key = slice(m, 0).key;
  });
  expect("tensor step: stands twice",
         [](Manifest& m) { m.contents.tensors.push_back(m.contents.tensors[1]); });
  expect("file model-t0.safetensors stands twice",
         [](Manifest& m) { m.contents.files.push_back(m.contents.files[0]); });
  expect("tensor decoder.qkv.weight: a slice at [3, 0]", [](Manifest& m) {
    m.contents.tensors[0].tensor.shape = {5, 4};
  });
  for (const char* name : {"", ".", "..", "a/b", "/etc/passwd", ".hidden", "manifest.json"})
    expect("file name", [&](Manifest& m) { m.contents.files[1].name = name; });
}

TEST(Manifest, OfTextsThatAreNotUtf8IsRefusedWhenWritten) {
  Manifest manifest = two_rank_manifest();
  manifest.run.options = "load = \"\xff\"";
  const std::string message = refusal([&] { static_cast<void>(to_json(manifest)); });
  EXPECT_NE(message.find("not UTF-8"), std::string::npos) << message;
}

TEST(Merge, RefusesRanksThatDisagreeOnATensor) {
  const std::vector<Contents> parts = {{.tensors = {{{"w", DType::f32, {4}}}}},
                                       {.tensors = {{{"w", DType::f32, {5}}}}}};
  const std::string message = refusal([&] { static_cast<void>(merge(parts)); });
  EXPECT_NE(message.find("tensor w: f32 [4] on one rank, f32 [5] on another"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace trireme::checkpoint
