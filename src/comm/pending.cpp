#include "comm/pending.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>

namespace trireme::comm::pending {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// What stands still is described that often: it may move on within a wait.
constexpr milliseconds kDescribes{100};

// A text that a handler may read while it is written: it sees old and new letters then.
template <size_t N>
class Text {
 public:
  void set(std::string_view text) {
    const size_t length = std::min(text.size(), N - 1);
    for (size_t i = 0; i < length; ++i) letters_[i].store(text[i], std::memory_order_relaxed);
    letters_[length].store('\0', std::memory_order_relaxed);
  }
  // Returns how many letters it wrote.
  size_t copy(char* to) const {
    size_t length = 0;
    for (; length < N - 1; ++length) {
      to[length] = letters_[length].load(std::memory_order_relaxed);
      if (to[length] == '\0') break;
    }
    return length;
  }
  [[nodiscard]] bool empty() const { return letters_[0].load(std::memory_order_relaxed) == '\0'; }

 private:
  std::array<std::atomic<char>, N> letters_ = {};
};

static_assert(std::atomic<char>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "a handler of a signal may read them");

struct Note {
  std::atomic<bool> on = false;
  std::atomic<int64_t> since = 0;  // of a steady clock, in ns; 0: no wait is under way
  Text<64> rank;
  Text<32> action;
  Text<512> awaited;
};
Note note;

int64_t count(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()).count();
}

// Lines put together without memory from elsewhere.
class Line {
 public:
  Line& operator<<(const char* text) {
    while (*text != '\0' && length_ < sizeof(letters_)) letters_[length_++] = *text++;
    return *this;
  }
  template <size_t N>
  Line& operator<<(const Text<N>& text) {
    if (length_ + N < sizeof(letters_)) length_ += text.copy(letters_ + length_);
    return *this;
  }
  Line& operator<<(int64_t number) {
    char digits[24] = {};
    size_t at = sizeof(digits) - 1;
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    return *this << (digits + at);
  }
  void write(int descriptor) const {
    for (size_t done = 0; done < length_;) {
      const ssize_t wrote = ::write(descriptor, letters_ + done, length_ - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return;  // nobody is there to be told
      done += static_cast<size_t>(wrote);
    }
  }

 private:
  char letters_[1024];
  size_t length_ = 0;
};

}  // namespace

void enable(std::string_view rank) {
  note.rank.set(rank);
  note.on = true;
}

void disable() {
  note.on = false;
}

void set_action(std::string_view action) {
  if (note.on.load(std::memory_order_relaxed)) note.action.set(action);
}

Wait::Wait(std::chrono::steady_clock::time_point start) {
  if (!note.on.load(std::memory_order_relaxed)) return;
  note.awaited.set("");
  note.since = count(start);
}

Wait::~Wait() {
  note.since = 0;
}

bool Wait::asks(nanoseconds waited) const {
  if (!note.on.load(std::memory_order_relaxed)) return false;
  return described_ < nanoseconds(0) || waited - described_ >= kDescribes;
}

void Wait::describe(std::string_view awaited, nanoseconds waited) {
  note.awaited.set(awaited);
  described_ = waited;
}

void write(int descriptor, const char* signal) noexcept {
  if (!note.on) return;
  const int before = errno;
  Line line;
  line << "trireme: [" << note.rank << "] " << signal << ": ";
  // A wait that was not described has hardly begun, and says nothing.
  const int64_t since = note.awaited.empty() ? 0 : note.since.load();
  timespec now = {};
  static_cast<void>(::clock_gettime(CLOCK_MONOTONIC, &now));
  if (since == 0) {
    line << "busy";
  } else {
    const int64_t tenths =
        std::max<int64_t>(0, int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - since) /
        100'000'000;
    line << "waiting for " << tenths / 10 << "." << tenths % 10 << " s";
  }
  if (!note.action.empty()) line << " in " << note.action;
  if (since != 0) line << ": " << note.awaited;
  line << "\n";
  line.write(descriptor);
  errno = before;
}

}  // namespace trireme::comm::pending
