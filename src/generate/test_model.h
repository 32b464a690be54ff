#pragma once
// What the tests of generators share: a small model with opinions and odd sizes, ready to decode.

#include <memory>
#include <vector>

#include "comm/local/solo.h"
#include "device/cpu/cpu_device.h"
#include "engine/groups.h"
#include "engine/initialise.h"
#include "generate/generator.h"

namespace trireme::generate {

inline constexpr int64_t kWords = 67;
inline constexpr int64_t kPositions = 48;

inline model::GptShape test_shape() {
  return {.layers = 2,
          .hidden = 40,
          .heads = 2,
          .ffn = 100,
          .length = kPositions,
          .positions = kPositions,
          .vocabulary = kWords};
}

/// One rank of a model.
struct TestModel {
  explicit TestModel(model::DecodeShape decode, int threads = 1) : cpu(threads) {
    open({.shape = test_shape(), .decode = std::move(decode)}, solo);
  }
  /// request: shape, cut, place and decode shape; its capacity is that of the model.
  TestModel(const model::RunRequest& request, const engine::Groups& groups, int threads = 1)
      : cpu(threads) {
    open(request, groups);
  }

  std::vector<std::vector<int32_t>> answers(const std::vector<Request>& requests,
                                            const Sampling& sampling = {}, int64_t words = kWords) {
    Generator generator(*session, sampling, words, cpu.pool());
    std::vector<std::vector<int32_t>> tokens(requests.size());
    generator.run(requests, [&](size_t request, int32_t token) {
      tokens[request].push_back(token);
      return true;
    });
    return tokens;
  }

  device::CpuDevice cpu;
  comm::SoloCommunicator solo;
  std::unique_ptr<engine::Session> session;

 private:
  void open(model::RunRequest request, const engine::Groups& groups) {
    request.profile = {.threads = cpu.pool().threads()};
    request.train = false;
    request.decode.capacity = kPositions;
    session = std::make_unique<engine::Session>(
        model::plan_run(request),
        ops::Backend{.device = &cpu, .kernels = &ops::cpu_kernels(), .profile = request.profile},
        groups);
    const auto& plan = session->plan();
    for (int i = 0; i < plan.table.size(); ++i) {
      const TensorId id{i};
      if (!plan.local.holds(id) || plan.local[id].alias) continue;
      std::vector<float> values(static_cast<size_t>(session->slice_elements(id)));
      parallel::Tensor tensor = plan.table[id];
      tensor.init.deviation *= 20;
      engine::initial_values(tensor, plan.local[id].slice, 3, cpu.pool(), values);
      session->write_tensor(id, engine::TensorState::parameter, values);
    }
  }
};

inline std::vector<int32_t> prompt_of(int64_t length, int64_t number) {
  std::vector<int32_t> prompt;
  for (int64_t i = 0; i < length; ++i)
    prompt.push_back(static_cast<int32_t>((i * (7 + number) + number * 13) % kWords));
  return prompt;
}

/// Prompts and answers of many lengths.
inline std::vector<Request> many_requests() {
  std::vector<Request> result;
  for (int64_t i = 0; i < 9; ++i) {
    result.push_back(
        {.prompt = prompt_of(1 + i * i % 31, i), .count = 3 + i * 5 % 14, .sample = i % 2});
  }
  result.push_back({.prompt = prompt_of(47, 3), .count = 1});
  return result;
}

}  // namespace trireme::generate
