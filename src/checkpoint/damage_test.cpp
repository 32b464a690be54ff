#include <gtest/gtest.h>

#include "checkpoint/folder.h"
#include "checkpoint/reader.h"
#include "checkpoint/test_folder.h"
#include "checkpoint/tiny_checkpoint.h"
#include "core/error.h"

namespace trireme::checkpoint {
namespace {

using parallel::Topology;

class Damage : public TestFolder {
 protected:
  Damage() { tiny::save(root_, 100, 1); }

  Path root_ = folder() / "CK";

  [[nodiscard]] std::vector<Path> files() const {
    std::vector<Path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
  }

  /// The message of the refusal; empty when the checkpoint loads, and then it is the one saved.
  [[nodiscard]] std::string load() const {
    try {
      tiny::expect_saved(CheckpointReader::open(root_), 100, 1, Topology(1, 3, 1));
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
};

TEST_F(Damage, OfAnyByteIsRefusedOrMakesNoDifference) {
  ASSERT_EQ(files().size(), 4U);  // weights, optimizer, manifest, latest
  for (const Path& file : files()) {
    const std::string content = read_file(file);
    size_t equal = 0;
    // manifest_test.cpp changes each byte of a manifest.
    const size_t step = file.filename() == kManifestFile ? 7 : 1;
    for (size_t i = 0; i < content.size(); i += step) {
      std::string changed = content;
      changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
      replace_file(file, changed);
      const std::string message = load();
      if (HasFailure()) FAIL() << file << " byte " << i;
      equal += message.empty() ? 1 : 0;
      EXPECT_TRUE(message.empty() || message.find(file.filename().string()) != std::string::npos ||
                  file.filename() == "latest_checkpointed_iteration.txt")
          << file << " byte " << i << ": " << message;
    }
    // Every byte of a data file counts; only white space between the manifest's members does not.
    EXPECT_EQ(file.extension() == ".safetensors" ? equal : 0, 0U) << file;
    EXPECT_LE(equal, 20U) << file;
    replace_file(file, content);
  }
  EXPECT_EQ(load(), "");
}

TEST_F(Damage, ByTruncationAtAnyLengthIsRefused) {
  for (const Path& file : files()) {
    const std::string content = read_file(file);
    // The last byte of the two text files is a line's end.
    const size_t least = file.extension() == ".safetensors" ? 0 : 1;
    for (size_t length = 0; length + least < content.size(); ++length) {
      replace_file(file, content.substr(0, length));
      EXPECT_NE(load(), "") << file << " at " << length;
    }
    replace_file(file, content);
  }
}

TEST_F(Damage, ByAMissingFileIsRefused) {
  for (const Path& file : files()) {
    const std::string content = read_file(file);
    std::filesystem::remove(file);
    EXPECT_NE(load(), "") << file;
    replace_file(file, content);
  }
}

TEST_F(Damage, ByFilesOfAnotherCheckpointIsRefused) {
  const Path other = folder() / "other";
  tiny::save(other, 100, 2);
  for (const Path& file : files()) {
    if (file.extension() != ".safetensors") continue;
    const std::string content = read_file(file);
    replace_file(file, read_file(other / "iter_0000100" / file.filename()));
    EXPECT_NE(load().find(file.filename().string()), std::string::npos) << load();
    replace_file(file, content);
  }
}

TEST_F(Damage, IsListedWithFileAndTensor) {
  const Path file = root_ / "iter_0000100" / "model-p0-t0.safetensors";
  const SafetensorsFile stored(file);
  std::string content = read_file(file);
  const size_t data = stored.head().size();
  content[data] = static_cast<char>(content[data] ^ 1);       // embedding, the first tensor
  content.back() = static_cast<char>(content.back() ^ 0x40);  // bias, the last
  replace_file(file, content);
  const Path head = root_ / "iter_0000100" / "optimizer-p0-t0.safetensors";
  std::string other = read_file(head);
  other[20] = static_cast<char>(other[20] ^ 1);
  replace_file(head, other);

  CheckpointReader reader = CheckpointReader::open(root_);
  const std::vector<std::string> damages = reader.damages();
  ASSERT_EQ(damages.size(), 3U);
  const std::vector<std::string> expected = {"model-p0-t0.safetensors: tensor embedding",
                                             "model-p0-t0.safetensors: tensor bias",
                                             "optimizer-p0-t0.safetensors"};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NE(damages[i].find(expected[i]), std::string::npos) << damages[i];
  try {
    reader.verify();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("3 damages, the first: " + damages[0]),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Damage, OfTensorsThatAreNotReadDoesNotMatter) {
  // Whoever reads weights alone does not wait for the optimizer's bytes.
  const Path file = root_ / "iter_0000100" / "optimizer-p0-t0.safetensors";
  std::string content = read_file(file);
  content.back() = static_cast<char>(content.back() ^ 1);
  replace_file(file, content);
  CheckpointReader reader = CheckpointReader::open(root_);
  std::vector<std::byte> bias(12);
  EXPECT_NO_THROW(reader.read({"bias", DType::f32, {3}}, {{0}, {3}, {3}}, bias));
  EXPECT_THROW(reader.verify(), Error);
}

}  // namespace
}  // namespace trireme::checkpoint
