#include "generate/generator.h"

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "core/format.h"

namespace trireme::generate {
namespace {

using program::BatchField;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Generator::Generator(engine::Session& session, const Sampling& sampling, int64_t words,
                     ThreadPool& pool)
    : session_(session),
      words_(words),
      pool_(pool),
      samplers_(static_cast<size_t>(pool.threads()), Sampler(sampling)) {
  const model::RunPlan& plan = session.plan();
  TRIREME_ASSERT(plan.decode.has_value(), "the session was planned for decoding");
  const model::DecodeShape& shape = plan.decode_shape;
  groups_.resize(static_cast<size_t>(shape.groups));
  for (auto place = static_cast<int32_t>(shape.places); place-- > 0;)
    groups_[static_cast<size_t>(place / shape.rows())].free_places.push_back(place);
  if (plan.chunks.back().head)
    logits_.resize(static_cast<size_t>(shape.rows() * plan.shape.vocabulary));
  chosen_.resize(static_cast<size_t>(shape.rows()));
  // The field keys dropout, which is off.
  const std::vector<int64_t> samples(
      static_cast<size_t>(std::max(shape.rows(), shape.prompt_rows.back())), 0);
  session_.write_field<int64_t>(BatchField::samples, MicrobatchId{0}, samples);
}

void Generator::add_row(int32_t token, int64_t position, int32_t place) {
  tokens_.push_back(token);
  positions_.push_back(static_cast<int32_t>(position));
  places_.push_back(place);
}

void Generator::write_rows(int64_t rows) {
  tokens_.resize(static_cast<size_t>(rows), 0);
  positions_.resize(static_cast<size_t>(rows), 0);
  places_.resize(static_cast<size_t>(rows), -1);  // rows of no answer
  session_.write_field<int32_t>(BatchField::tokens, MicrobatchId{0}, tokens_);
  session_.write_field<int32_t>(BatchField::positions, MicrobatchId{0}, positions_);
  session_.write_field<int32_t>(BatchField::places, MicrobatchId{0}, places_);
  tokens_.clear();
  positions_.clear();
  places_.clear();
}

void Generator::read_prompts(std::span<const Sequence> started, std::span<const Request> requests) {
  const auto start = std::chrono::steady_clock::now();
  int64_t rest = 0;
  for (const Sequence& sequence : started) rest += sequence.cached;
  work_.prompt_tokens += rest;
  const std::vector<int64_t>& sizes = session_.plan().decode_shape.prompt_rows;
  // The smallest program that takes all that is left, else the largest.
  const auto program_for = [&](int64_t rows) {
    const auto fits = std::lower_bound(sizes.begin(), sizes.end(), rows);
    return static_cast<size_t>((fits == sizes.end() ? fits - 1 : fits) - sizes.begin());
  };
  size_t program = program_for(rest);
  for (const Sequence& sequence : started) {
    const std::vector<int32_t>& prompt = requests[sequence.request].prompt;
    for (int64_t at = 0; at < sequence.cached; ++at) {
      add_row(prompt[static_cast<size_t>(at)], at, sequence.place);
      const auto rows = static_cast<int64_t>(tokens_.size());
      if (rows < std::min(rest, sizes[program])) continue;
      write_rows(sizes[program]);
      session_.read_prompt(program);
      rest -= rows;
      program = program_for(rest);
    }
  }
  session_.synchronize();
  work_.prompt_seconds += seconds_since(start);
}

void Generator::start_step(int number, std::span<const Request> requests) {
  const auto start = std::chrono::steady_clock::now();
  Group& group = groups_[static_cast<size_t>(number)];
  for (Sequence& sequence : group.growing) {
    add_row(sequence.token, sequence.cached, sequence.place);
    sequence.cached += 1;
    sequence.grown += 1;
  }
  write_rows(session_.plan().decode_shape.rows());
  const auto row = static_cast<size_t>(session_.plan().shape.vocabulary);
  const size_t rows = group.growing.size();
  const std::span<int32_t> chosen = std::span(chosen_).first(rows);
  const std::span<float> logits = std::span(logits_).first(logits_.empty() ? 0 : rows * row);
  session_.decode(logits);
  if (!logits.empty()) {
    pool_.parallel_for(static_cast<int64_t>(rows), [&](int64_t index, int thread) {
      const auto i = static_cast<size_t>(index);
      const Sequence& sequence = group.growing[i];
      chosen[i] = samplers_[static_cast<size_t>(thread)].choose(
          logits.subspan(i * row, static_cast<size_t>(words_)), requests[sequence.request].sample,
          sequence.cached);
    });
  }
  session_.start_tokens(number, chosen);
  group.at_work = true;
  work_.answer_seconds += seconds_since(start);
}

void Generator::finish_step(int number, std::span<const Request> requests,
                            const OnToken& on_token) {
  const auto start = std::chrono::steady_clock::now();
  Group& group = groups_[static_cast<size_t>(number)];
  const std::span<int32_t> chosen = std::span(chosen_).first(group.growing.size());
  session_.wait_tokens(number, chosen);
  group.at_work = false;
  size_t kept = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    Sequence sequence = group.growing[i];
    sequence.token = chosen[i];
    work_.answer_tokens += 1;
    const bool goes_on = on_token(sequence.request, sequence.token);
    if (goes_on && sequence.grown < requests[sequence.request].count) {
      group.growing[kept++] = sequence;
    } else {
      group.free_places.push_back(sequence.place);
    }
  }
  group.growing.resize(kept);
  work_.answer_seconds += seconds_since(start);
}

size_t Generator::begin(Group& group, std::span<const Request> requests, size_t begun) {
  const size_t before = group.growing.size();
  while (begun < requests.size() && !group.free_places.empty()) {
    const Request& request = requests[begun];
    require_room(request, words_, session_.plan().decode_shape.capacity, "generate");
    group.growing.push_back({.request = begun++,
                             .place = group.free_places.back(),
                             .cached = static_cast<int64_t>(request.prompt.size()) - 1,
                             .token = request.prompt.back()});
    group.free_places.pop_back();
  }
  read_prompts(std::span(group.growing).subspan(before), requests);
  return begun;
}

void Generator::run(std::span<const Request> requests, const OnToken& on_token) {
  size_t begun = 0;
  for (bool busy = true; busy;) {
    busy = false;
    for (int number = 0; number < static_cast<int>(groups_.size()); ++number) {
      Group& group = groups_[static_cast<size_t>(number)];
      if (group.at_work) finish_step(number, requests, on_token);
      begun = begin(group, requests, begun);
      if (group.growing.empty()) continue;
      start_step(number, requests);
      busy = true;
    }
  }
  session_.finish_messages();
}

void require_room(const Request& request, int64_t words, int64_t positions,
                  const std::string& where) {
  const auto length = static_cast<int64_t>(request.prompt.size());
  if (length == 0) {
    fail({.where = where,
          .what = "an empty prompt",
          .rule = "a model continues at least one token",
          .remedy = "give a prompt"});
  }
  for (const int32_t token : request.prompt) {
    if (token >= 0 && token < words) continue;
    fail({.where = where,
          .what = format("the prompt has token id {}", token),
          .rule = format("the model knows ids below {}", words),
          .remedy = "use the tokenizer that the model was trained with"});
  }
  if (length + request.count <= positions) return;
  const int64_t room = positions - length;
  fail({.where = where,
        .what = format("a prompt of {} tokens and {} more", length, request.count),
        .rule = format("the model has {} positions", positions),
        .remedy = room > 0 ? format("use --num-tokens {} or less, or a shorter prompt", room)
                           : format("use a prompt of at most {} tokens", positions - 1)});
}

}  // namespace trireme::generate
