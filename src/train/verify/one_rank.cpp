#include "train/verify/one_rank.h"

#include <algorithm>
#include <functional>

#include "engine/initialise.h"

namespace trireme::train {

using engine::TensorState;

model::RunRequest one_rank_request(const model::RunRequest& request, int threads) {
  const int d = request.topology.data();
  model::RunRequest one = {.shape = request.shape,
                           .batch = request.batch,
                           .smaller_batches = request.smaller_batches,
                           .optimizer = request.optimizer,
                           .profile = {.threads = threads}};
  one.batch.microbatches *= d;
  for (int& microbatches : one.smaller_batches) microbatches *= d;
  return one;
}

OneRank::OneRank(const Verification& run, const Roundings& roundings, int threads)
    : device(threads),
      session(model::plan_run(one_rank_request(run.request, threads)),
              {.device = &device, .kernels = &ops::cpu_kernels(), .profile = {.threads = threads}},
              solo),
      trainer(session, run.data, run.course, run.rate, run.seed, run.reading),
      values(session, roundings) {
  if (run.overfit) trainer.overfit();
  trainer.resume(run.start(session, device.pool()));
}

void OneRank::move_constant_vectors() {
  const parallel::TensorTable& table = session.plan().table;
  for (int i = 0; i < table.size(); ++i) {
    const TensorId id{i};
    if (table[id].shape.rank() != 1) continue;
    std::vector<float> values_now(static_cast<size_t>(session.slice_elements(id)));
    session.read_tensor(id, TensorState::parameter, values_now);
    const bool constant = std::all_of(values_now.begin(), values_now.end(),
                                      [&](float value) { return value == values_now.front(); });
    if (!constant) continue;
    const Shape row = {1, static_cast<int64_t>(values_now.size())};
    const parallel::Tensor normal = {.name = table[id].name,
                                     .shape = row,
                                     .init = {.kind = parallel::Init::Kind::normal,
                                              .deviation = session.plan().shape.init_deviation,
                                              .site = RandomSite::init_word_embeddings,
                                              .layer = static_cast<uint32_t>(1 + i)}};
    std::vector<float> offsets(values_now.size());
    engine::initial_values(normal, {.offset = {0, 0}, .extent = row, .storage = row}, 0,
                           device.pool(), offsets);
    std::transform(values_now.begin(), values_now.end(), offsets.begin(), values_now.begin(),
                   std::plus<>());
    session.write_tensor(id, TensorState::parameter, values_now);
  }
}

}  // namespace trireme::train
