#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/thread_pool.h"
#include "engine/session.h"
#include "generate/sampler.h"

namespace trireme::generate {

/// An answer that is wanted.
struct Request {
  std::vector<int32_t> prompt = {};  ///< at least one token
  int64_t count = 0;                 ///< tokens of the answer, at most; at least one
  int64_t sample = 0;  ///< numbers the answers to one prompt: the same number gives the same tokens
};

/// Continues prompts with the session's decoding programs. Answers grow side by side, each in a
/// place with a key/value cache of its own; where one ends, the next prompt moves in.
///
/// An answer depends on its request, the sampling and the model, not on what grows beside it, to
/// the bit: every op of the decoding programs treats its rows one by one. So it is the same for any
/// number of places, and whether a prompt was read in one go or token by token.
///
/// The ranks of a model have a generator each and run the same requests. Each tensor rank of the
/// last stage chooses from the same logits, so the same tokens; they go to all stages, so every
/// rank is told of every token. The places are in groups: while one stage has a group at work, the
/// next one has the group before. Answers do not depend on the groups either, nor on the stages.
class Generator {
 public:
  /// The session was planned with a decode shape; it outlives the generator.
  /// words: only ids below it are chosen; a model may have more rows than its tokenizer has tokens.
  /// pool: chooses tokens of several answers at once; outlives it, too.
  Generator(engine::Session& session, const Sampling& sampling, int64_t words, ThreadPool& pool);

  /// Told of each token as it is chosen, with the number of its request. False ends the answer; all
  /// ranks say the same.
  using OnToken = std::function<bool(size_t request, int32_t token)>;

  /// Answers all requests, in this order as places become free. Each fits the plan's capacity
  /// (require_room).
  void run(std::span<const Request> requests, const OnToken& on_token);

  /// What was done so far. The last token of a prompt costs as much as one of an answer. Seconds of
  /// this rank, its waiting for others with them.
  struct Work {
    int64_t prompt_tokens = 0;
    double prompt_seconds = 0;
    int64_t answer_tokens = 0;
    double answer_seconds = 0;
  };
  [[nodiscard]] const Work& work() const { return work_; }

 private:
  // An answer that grows.
  struct Sequence {
    size_t request = 0;
    int32_t place = 0;
    int64_t cached = 0;  // tokens in the cache
    int64_t grown = 0;   // tokens of the answer
    int32_t token = 0;   // the newest, not cached yet
  };
  // Those of a group of places.
  struct Group {
    std::vector<Sequence> growing;
    std::vector<int32_t> free_places;  // the lowest last
    bool at_work = false;              // the next tokens are on their way
  };

  void add_row(int32_t token, int64_t position, int32_t place);
  void write_rows(int64_t rows);
  // The next requests move into a group's free places; says how many are begun.
  size_t begin(Group& group, std::span<const Request> requests, size_t begun);
  // All but the last token of the prompts, into the caches.
  void read_prompts(std::span<const Sequence> started, std::span<const Request> requests);
  // The last token of each prompt or answer goes through this stage; the one behind it is chosen.
  void start_step(int number, std::span<const Request> requests);
  // The tokens are here.
  void finish_step(int number, std::span<const Request> requests, const OnToken& on_token);

  engine::Session& session_;
  int64_t words_;
  ThreadPool& pool_;
  std::vector<Sampler> samplers_;  // of each thread
  std::vector<Group> groups_;
  std::vector<float> logits_;    // [rows, V], on the last stage
  std::vector<int32_t> chosen_;  // of the rows
  // The rows of a call.
  std::vector<int32_t> tokens_;
  std::vector<int32_t> positions_;
  std::vector<int32_t> places_;
  Work work_;
};

/// Throws, saying what would do, unless the prompt has a token, its ids are words, and prompt and
/// answer fit into the model's positions. where: what a message calls the prompt.
void require_room(const Request& request, int64_t words, int64_t positions,
                  const std::string& where);

}  // namespace trireme::generate
