#include "ops/testing/trial.h"

#include <algorithm>
#include <string_view>

#include "core/format.h"
#include "device/cpu/cpu_device.h"

namespace trireme::ops::testing {
namespace {

constexpr int64_t kGuardBytes = 256;
constexpr int64_t kAlignment = 64;
constexpr std::byte kGuard{0xFF};  // NaN, so that a value read from outside shows in the results

int64_t align_up(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Trial::Range Trial::place(int64_t bytes, int64_t shift) {
  const Range range{align_up(size_ + kGuardBytes) + shift, bytes};
  size_ = range.offset + range.bytes;
  return range;
}

Trial::Trial(const Case& c, const Backend& backend, int64_t shift)
    : case_(c), backend_(backend), inputs_(inputs_of(c)) {
  for (const program::Operand& operand : inputs_.declared()) {
    const int64_t width = bytes_of(operand.dtype);
    ranges_.push_back(place(operand.elements * width, shift * width));
  }
  if (c.in_place) {
    ranges_[static_cast<size_t>(c.in_place->write)] =
        ranges_[static_cast<size_t>(c.in_place->read)];
  }
  ranges_.push_back(place(program::workspace_of(c.op, backend.profile), 0));
  size_ += kGuardBytes;

  std::vector<std::byte> image(static_cast<size_t>(size_), kGuard);
  for (int i = 0; i < inputs_.count(); ++i) {
    if (!is_input(inputs_.declared()[static_cast<size_t>(i)], c.accumulate)) continue;
    const std::span<const std::byte> bytes = inputs_.bytes(i);
    std::copy(bytes.begin(), bytes.end(), image.begin() + ranges_[static_cast<size_t>(i)].offset);
  }
  arena_ = device::Arena(*backend.device, size_);
  stream_ = backend.device->make_stream();
  backend.device->copy_in(*stream_, arena_.data(), image);
  backend.device->synchronize(*stream_);
  for (const Range& range : ranges_) {
    addresses_.push_back(range.bytes == 0 ? nullptr : arena_.data() + range.offset);
  }
  workspace_ = static_cast<std::byte*>(addresses_.back());
  addresses_.pop_back();
}

void Trial::launch() {
  const Kernel kernel = (*backend_.kernels)[case_.op];
  TRIREME_ASSERT(kernel != nullptr, "the backend has no kernel for this op");
  kernel(*stream_, case_.op,
         {.operands = addresses_,
          .workspace = workspace_,
          .layer = case_.layer,
          .accumulate = case_.accumulate});
}

void Trial::synchronize() {
  backend_.device->synchronize(*stream_);
}

Outcome Trial::outcome() {
  std::vector<std::byte> image(static_cast<size_t>(size_));
  backend_.device->copy_out(*stream_, image, arena_.data());
  synchronize();

  Outcome result{.operands = HostOperands(case_.op)};
  for (int i = 0; i < result.operands.count(); ++i) {
    const Range& range = ranges_[static_cast<size_t>(i)];
    const std::span<std::byte> bytes = result.operands.bytes(i);
    std::copy_n(image.begin() + range.offset, range.bytes, bytes.begin());
    const bool lent = case_.in_place && case_.in_place->read == i;
    const program::Operand& declared = result.operands.declared()[static_cast<size_t>(i)];
    if (declared.access != program::Access::read || lent) continue;
    if (!std::equal(bytes.begin(), bytes.end(), inputs_.bytes(i).begin())) {
      result.violations.push_back(
          format("{}: {} was changed, it may only be read", case_.name, declared.name));
    }
  }
  check_guards(image, result.violations);
  return result;
}

void Trial::check_guards(const std::vector<std::byte>& image,
                         std::vector<std::string>& violations) const {
  std::vector<bool> guard(image.size(), true);
  for (const Range& range : ranges_) {
    std::fill_n(guard.begin() + range.offset, range.bytes, false);
  }
  const auto written = [&](int64_t at) {
    return guard[static_cast<size_t>(at)] && image[static_cast<size_t>(at)] != kGuard;
  };
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const int64_t begin = ranges_[i].offset;
    const int64_t end = begin + ranges_[i].bytes;
    const std::string_view name =
        i + 1 < ranges_.size() ? inputs_.declared()[i].name : std::string_view("the workspace");
    for (int64_t k = 1; k <= kGuardBytes; ++k) {
      if (!written(begin - k) && !written(end + k - 1)) continue;
      violations.push_back(format("{}: wrote byte {} {} {}", case_.name, k,
                                  written(begin - k) ? "before" : "past the end of", name));
      break;
    }
  }
}

Outcome run(const Case& c, const Backend& backend, int64_t shift) {
  Trial trial(c, backend, shift);
  trial.launch();
  return trial.outcome();
}

Outcome run_reference(const Case& c) {
  device::CpuDevice device(1);
  return run(c, {.device = &device, .kernels = &reference_kernels(), .profile = {}});
}

}  // namespace trireme::ops::testing
