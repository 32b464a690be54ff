#include "plugin/serve.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <map>
#include <span>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "plugin/build_id.h"

namespace trireme::plugin {

struct abi::Device {
  std::unique_ptr<device::Device> device;
  std::map<void*, device::Arena> arenas;
};
struct abi::Stream {
  std::unique_ptr<device::Stream> stream;
};
struct abi::Event {
  std::unique_ptr<device::Event> event;
};
struct abi::Communicator {
  std::unique_ptr<comm::Communicator> communicator;
};

namespace {

using abi::Failure;
using abi::Status;

static_assert(std::is_trivially_copyable_v<program::OpSpec>, "an op that crosses owns nothing");

Offer offer;

template <size_t N>
void write(char (&to)[N], std::string_view text) {
  const size_t length = std::min(text.size(), N - 1);
  std::copy_n(text.data(), length, to);
  to[length] = '\0';
}

template <class Body>
Status guarded(Failure* failure, Body body) noexcept {
  const auto words = [&](std::string_view where, std::string_view what, std::string_view rule,
                         std::string_view remedy) {
    write(failure->where, where);
    write(failure->what, what);
    write(failure->rule, rule);
    write(failure->remedy, remedy);
  };
  try {
    body();
    return Status::done;
  } catch (const Error& error) {
    const Trouble& trouble = error.trouble();
    words(trouble.where, trouble.what, trouble.rule, trouble.remedy);
    return error.kind() == Error::Kind::usage ? Status::usage_failure : Status::run_failure;
  } catch (const std::exception& error) {
    words(offer.name, error.what(), "", "");
  } catch (...) {
    words(offer.name, "an exception of no known type", "", "");
  }
  return Status::run_failure;
}

int32_t has_kernel(int64_t kind) noexcept {
  const auto& kernels = offer.kernels().kernels;
  return kind >= 0 && kind < static_cast<int64_t>(kernels.size()) &&
                 kernels[static_cast<size_t>(kind)] != nullptr
             ? 1
             : 0;
}

Status open_device(int32_t threads, abi::Device** device, Failure* failure) noexcept {
  return guarded(failure, [&] {
    auto made = std::make_unique<abi::Device>();
    made->device = offer.make_device(threads);
    *device = made.release();
  });
}
void close_device(abi::Device* device) noexcept {
  delete device;
}

Status available_bytes(abi::Device* device, int64_t* bytes, Failure* failure) noexcept {
  return guarded(failure, [&] { *bytes = device->device->available_bytes(); });
}

Status peak(abi::Device* device, abi::Peak* peak, Failure* failure) noexcept {
  return guarded(failure, [&] {
    std::string how;
    peak->flops = offer.peak(*device->device, how);
    write(peak->how, how);
  });
}

Status allocate(abi::Device* device, int64_t bytes, void** memory, Failure* failure) noexcept {
  return guarded(failure, [&] {
    device::Arena arena(*device->device, bytes);
    void* const at = arena.data();
    device->arenas.emplace(at, std::move(arena));
    *memory = at;
  });
}
void release(abi::Device* device, void* memory) noexcept {
  device->arenas.erase(memory);
}

Status open_stream(abi::Device* device, abi::Stream** stream, Failure* failure) noexcept {
  return guarded(failure, [&] { *stream = new abi::Stream{device->device->make_stream()}; });
}
void close_stream(abi::Stream* stream) noexcept {
  delete stream;
}

Status open_event(abi::Device* device, abi::Event** event, Failure* failure) noexcept {
  return guarded(failure, [&] { *event = new abi::Event{device->device->make_event()}; });
}
void close_event(abi::Event* event) noexcept {
  delete event;
}

Status record(abi::Device* device, abi::Event* event, abi::Stream* stream,
              Failure* failure) noexcept {
  return guarded(failure, [&] { device->device->record(*event->event, *stream->stream); });
}

Status wait(abi::Device* device, abi::Stream* stream, const abi::Event* event,
            Failure* failure) noexcept {
  return guarded(failure, [&] { device->device->wait(*stream->stream, *event->event); });
}

Status synchronize_stream(abi::Device* device, abi::Stream* stream, Failure* failure) noexcept {
  return guarded(failure, [&] { device->device->synchronize(*stream->stream); });
}

Status synchronize_event(abi::Device* device, const abi::Event* event, Failure* failure) noexcept {
  return guarded(failure, [&] { device->device->synchronize(std::as_const(*event->event)); });
}

Status copy_in(abi::Device* device, abi::Stream* stream, void* device_memory, const void* host,
               int64_t bytes, Failure* failure) noexcept {
  return guarded(failure, [&] {
    device->device->copy_in(*stream->stream, device_memory,
                            {static_cast<const std::byte*>(host), static_cast<size_t>(bytes)});
  });
}

Status copy_out(abi::Device* device, abi::Stream* stream, void* host, const void* device_memory,
                int64_t bytes, Failure* failure) noexcept {
  return guarded(failure, [&] {
    device->device->copy_out(*stream->stream,
                             {static_cast<std::byte*>(host), static_cast<size_t>(bytes)},
                             device_memory);
  });
}

Status fill_zero(abi::Device* device, abi::Stream* stream, void* device_memory, int64_t bytes,
                 Failure* failure) noexcept {
  return guarded(failure,
                 [&] { device->device->fill_zero(*stream->stream, device_memory, bytes); });
}

Status launch(abi::Stream* stream, const abi::Op* op, Failure* failure) noexcept {
  return guarded(failure, [&] {
    const auto& spec = *static_cast<const program::OpSpec*>(op->op);
    const ops::Kernel kernel = offer.kernels()[spec];
    TRIREME_ASSERT(kernel != nullptr, "a kind without a kernel is not launched");
    kernel(*stream->stream, spec,
           {.operands = {op->operands, static_cast<size_t>(op->operand_count)},
            .workspace = static_cast<std::byte*>(op->workspace),
            .layer = op->layer,
            .accumulate = op->accumulate != 0});
  });
}

Status open_communicator(abi::Device* device, int32_t rank, int32_t size,
                         abi::Communicator** communicator, Failure* failure) noexcept {
  return guarded(failure, [&] {
    *communicator = new abi::Communicator{offer.make_communicator(*device->device, rank, size)};
  });
}
void close_communicator(abi::Communicator* communicator) noexcept {
  delete communicator;
}

Status start(abi::Communicator* communicator, abi::Stream* stream, const void* exchange,
             uint64_t* request, Failure* failure) noexcept {
  return guarded(failure, [&] {
    *request = communicator->communicator
                   ->start(*stream->stream, *static_cast<const comm::Exchange*>(exchange))
                   .number;
  });
}

Status progress(abi::Communicator* communicator, Failure* failure) noexcept {
  return guarded(failure, [&] { communicator->communicator->progress(); });
}

Status wait_request(abi::Communicator* communicator, uint64_t request, abi::Stream* stream,
                    Failure* failure) noexcept {
  return guarded(failure, [&] { communicator->communicator->wait({request}, *stream->stream); });
}

void withdraw(abi::Communicator* communicator) noexcept {
  communicator->communicator->withdraw();
}

void bytes_sent(const abi::Communicator* communicator, int64_t* bytes) noexcept {
  const comm::BytesSent sent = communicator->communicator->bytes_sent();
  std::copy(sent.of.begin(), sent.of.end(), bytes);
}

}  // namespace

const abi::Table* serve(const Offer& offered) {
  offer = offered;
  static const abi::Table table = {.version = abi::kVersion,
                                   .bytes = sizeof(abi::Table),
                                   .build_id = build_id(),
                                   .name = offer.name,
                                   .has_kernel = has_kernel,
                                   .open_device = open_device,
                                   .close_device = close_device,
                                   .available_bytes = available_bytes,
                                   .peak = peak,
                                   .allocate = allocate,
                                   .release = release,
                                   .open_stream = open_stream,
                                   .close_stream = close_stream,
                                   .open_event = open_event,
                                   .close_event = close_event,
                                   .record = record,
                                   .wait = wait,
                                   .synchronize_stream = synchronize_stream,
                                   .synchronize_event = synchronize_event,
                                   .copy_in = copy_in,
                                   .copy_out = copy_out,
                                   .fill_zero = fill_zero,
                                   .launch = launch,
                                   .open_communicator = open_communicator,
                                   .close_communicator = close_communicator,
                                   .start = start,
                                   .progress = progress,
                                   .wait_request = wait_request,
                                   .withdraw = withdraw,
                                   .bytes_sent = bytes_sent};
  return &table;
}

}  // namespace trireme::plugin
