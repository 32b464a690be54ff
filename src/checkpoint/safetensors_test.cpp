#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "checkpoint/test_folder.h"
#include "core/error.h"

namespace trireme::checkpoint {
namespace {

class Safetensors : public TestFolder {
 protected:
  Path path_ = folder() / "a.safetensors";

  /// A file with this header (its length is set) and data.
  void write_raw(const std::string& header, const std::string& data, int64_t lie = 0) const {
    const uint64_t length = header.size() + static_cast<uint64_t>(lie);
    std::array<char, 8> length_bytes = {};
    std::memcpy(length_bytes.data(), &length, 8);
    write_file(path_, std::string(length_bytes.data(), 8) + header + data);
  }

  /// The message with which the file is refused; empty when it is not.
  [[nodiscard]] std::string refusal() const {
    try {
      const SafetensorsFile file(path_);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
};

#define EXPECT_REFUSED(words)                                              \
  do {                                                                     \
    const std::string message = refusal();                                 \
    EXPECT_NE(message.find(words), std::string::npos) << message;          \
    EXPECT_NE(message.find(path_.string()), std::string::npos) << message; \
  } while (false)

std::vector<std::byte> counted(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + count);
  return bytes;
}

const std::vector<TensorSpec> kTensors = {{"z.weight", DType::bf16, {3, 5}},
                                          {"a", DType::f32, {2, 1, 2, 2}},
                                          {"empty", DType::f16, {0, 4}},
                                          {"step \"n\" \xc3\xa9", DType::i64, {}},
                                          {"d", DType::f64, {2}},
                                          {"i", DType::i32, {3}}};

void write_tensors(const Path& path) {
  AtomicFile file(path);
  SafetensorsWriter writer([&](std::span<const std::byte> bytes) { file.write(bytes); }, kTensors,
                           {{"format", "pt"}});
  for (const TensorSpec& tensor : kTensors)
    writer.write(counted(*stored_bytes(tensor.dtype, tensor.shape)));
  writer.finish();
  EXPECT_EQ(writer.file_bytes(), file.bytes_written());
  file.commit();
}

TEST_F(Safetensors, ReadsWhatItWrote) {
  write_tensors(path_);
  const SafetensorsFile file(path_);
  EXPECT_EQ(file.tensors().size(), kTensors.size());
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}}));
  for (const TensorSpec& tensor : kTensors) {
    const auto index = file.find(tensor.name);
    ASSERT_TRUE(index) << tensor.name;
    EXPECT_EQ(file.tensors()[*index], tensor);
    const auto bytes = file.bytes(*index);
    EXPECT_EQ(std::vector<std::byte>(bytes.begin(), bytes.end()),
              counted(*stored_bytes(tensor.dtype, tensor.shape)));
  }
  EXPECT_FALSE(file.find("nothing"));
}

// By the words of the public format alone, with nothing of ours but the bytes.
TEST_F(Safetensors, IsWhatThePublicFormatDescribes) {
  write_tensors(path_);
  const std::string content = read_file(path_);
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i)
    length |= uint64_t{static_cast<unsigned char>(content[i])} << (8 * i);
  ASSERT_LE(8 + length, content.size());
  EXPECT_EQ((8 + length) % 8, 0U);
  EXPECT_EQ(content[8], '{');
  const auto header = nlohmann::json::parse(content.substr(8, length));
  const std::string data = content.substr(8 + length);
  const std::map<std::string, size_t> sizes = {{"F64", 8},  {"F32", 4}, {"F16", 2},
                                               {"BF16", 2}, {"I64", 8}, {"I32", 4}};
  std::vector<bool> used(data.size(), false);
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      EXPECT_TRUE(entry.is_object());
      continue;
    }
    size_t bytes = sizes.at(entry.at("dtype"));
    for (const size_t extent : entry.at("shape")) bytes *= extent;
    const size_t begin = entry.at("data_offsets").at(0);
    const size_t end = entry.at("data_offsets").at(1);
    ASSERT_EQ(end - begin, bytes) << name;
    ASSERT_LE(end, data.size());
    for (size_t i = begin; i < end; ++i) {
      EXPECT_FALSE(used[i]);
      used[i] = true;
    }
  }
  EXPECT_EQ(std::count(used.begin(), used.end(), false), 0);
  EXPECT_EQ(header.size(), kTensors.size() + 1);
  EXPECT_EQ(header.at("a").at("shape"), (nlohmann::json{2, 1, 2, 2}));
}

TEST_F(Safetensors, AnEmptyFileOfTensorsIsValid) {
  write_raw("{}", "");
  EXPECT_TRUE(SafetensorsFile(path_).tensors().empty());
}

TEST_F(Safetensors, RefusesLengthsThatCannotBe) {
  write_file(path_, "");
  EXPECT_REFUSED("0 bytes are too few");
  write_file(path_, "1234567");
  EXPECT_REFUSED("7 bytes are too few");
  write_raw("{}", "", 1);
  EXPECT_REFUSED("a header of 3 bytes in a file of 10");
  write_file(path_, std::string(8, '\xff') + "{}");
  EXPECT_REFUSED("a header of 18446744073709551615 bytes");
  write_raw("", "");
  EXPECT_REFUSED("does not begin with {");
}

TEST_F(Safetensors, RefusesHeadersThatAreNotStrictJson) {
  write_raw("{\"a\":", "");
  EXPECT_REFUSED("not valid JSON at byte 6");
  write_raw(" {}", "");
  EXPECT_REFUSED("does not begin with {");
  write_raw("{} x", "");
  EXPECT_REFUSED("not valid JSON");
  write_raw("{\"\xff\":{}}", "");
  EXPECT_REFUSED("not valid JSON");
  write_raw("{\"a\":" + std::string(100000, '['), "");
  EXPECT_REFUSED("nested deeper");
  const std::string one = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  write_raw("{" + one + "," + one + "}", "1234");
  EXPECT_REFUSED("\"a\" stands twice");
  write_raw(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234");
  EXPECT_REFUSED("\"dtype\" stands twice");
  write_raw(R"({"__metadata__":{"a":1}})", "");
  EXPECT_REFUSED("holds more than texts");
  write_raw(R"({"__metadata__":[]})", "");
  EXPECT_REFUSED("not a JSON object");
}

TEST_F(Safetensors, RefusesTensorsThatCannotBe) {
  const auto with = [&](const std::string& dtype, const std::string& shape,
                        const std::string& offsets, const std::string& more = "") {
    write_raw(R"({"w.1":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
                  offsets + more + "}}",
              "12345678");
  };
  with("F32", "[2]", "[0,8]");
  EXPECT_EQ(refusal(), "");
  with("F8_E4M3", "[8]", "[0,8]");
  EXPECT_REFUSED("tensor w.1: element type \"F8_E4M3\"; this program reads F32, BF16");
  with("f32", "[2]", "[0,8]");
  EXPECT_REFUSED("element type \"f32\"");
  with("F32", "[3]", "[0,8]");
  EXPECT_REFUSED("tensor w.1: f32 [3] needs 12 bytes, but its data have 8");
  with("F32", "[4294967296,4294967296,4294967296]", "[0,8]");
  EXPECT_REFUSED("tensor w.1: impossible shape");
  with("F32", "[0,9223372036854775807,9223372036854775807]", "[0,0]");
  EXPECT_REFUSED("impossible shape");
  with("F32", "[1,1,1,1,2]", "[0,8]");
  EXPECT_REFUSED("has 5 dimensions");
  with("F32", "[-2]", "[0,8]");
  EXPECT_REFUSED("\"shape\" is -2");
  with("F32", "[2.0]", "[0,8]");
  EXPECT_REFUSED("\"shape\" is 2.0");
  with("F32", "[2]", "[8,0]");
  EXPECT_REFUSED("tensor w.1: \"data_offsets\"");
  with("F32", "[2]", "[0]");
  EXPECT_REFUSED("\"data_offsets\"");
  with("F32", "[3]", "[0,12]");
  EXPECT_REFUSED("tensor w.1: its data end at byte 12, the file's data at 8");
  with("F32", "[1]", "[4,8]");
  EXPECT_REFUSED("tensor w.1: its data leave a hole behind");
  with("F32", "[1]", "[0,4]");
  EXPECT_REFUSED("8 bytes of data, but its tensors end at byte 4");
  with("F32", "[2]", "[0,8]", R"(,"extra":1)");
  EXPECT_REFUSED("tensor w.1: unknown member \"extra\"");
  write_raw(R"({"w":{"dtype":"F32","shape":[1]}})", "1234");
  EXPECT_REFUSED("tensor w: no member \"data_offsets\"");
  write_raw(R"({"w":5})", "");
  EXPECT_REFUSED("tensor w: not a JSON object");
  write_raw(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
            "12345678");
  EXPECT_REFUSED("tensor b: its data overlap the ones before it");
}

TEST_F(Safetensors, RefusesATruncatedFileAtEveryLength) {
  write_tensors(path_);
  const std::string content = read_file(path_);
  for (size_t length = 0; length < content.size(); ++length) {
    replace_file(path_, content.substr(0, length));
    EXPECT_NE(refusal(), "") << length;
  }
  replace_file(path_, content + "x");
  EXPECT_NE(refusal(), "");
}

}  // namespace
}  // namespace trireme::checkpoint
