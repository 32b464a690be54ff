#include "plugin/plugin_device.h"

#include <string_view>
#include <utility>

#include "core/error.h"

namespace trireme::plugin {
namespace {

using abi::Failure;
using abi::Status;

// Throws what a call reported. in_front: of where it happened.
void check(Status status, const Failure& failure, std::string_view in_front = {}) {
  if (status == Status::done) return;
  std::string where(in_front);
  if (failure.where[0] != '\0') where += (where.empty() ? "" : ": ") + std::string(failure.where);
  const Trouble trouble = {
      .where = where, .what = failure.what, .rule = failure.rule, .remedy = failure.remedy};
  if (status == Status::usage_failure) fail_usage(trouble);
  fail(trouble);
}

// One call of the table; its last argument is where it writes what went wrong.
template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
  Failure failure = {};
  check(function(arguments..., &failure), failure);
}

class PluginStream final : public device::Stream {
 public:
  PluginStream(const abi::Table& table, abi::Device* device) : table_(table) {
    call(table.open_stream, device, &handle_);
  }
  ~PluginStream() override { table_.close_stream(handle_); }

  [[nodiscard]] const abi::Table& table() const { return table_; }
  [[nodiscard]] abi::Stream* handle() const { return handle_; }

 private:
  const abi::Table& table_;
  abi::Stream* handle_ = nullptr;
};

class PluginEvent final : public device::Event {
 public:
  PluginEvent(const abi::Table& table, abi::Device* device) : table_(table) {
    call(table.open_event, device, &handle_);
  }
  ~PluginEvent() override { table_.close_event(handle_); }

  [[nodiscard]] abi::Event* handle() const { return handle_; }

 private:
  const abi::Table& table_;
  abi::Event* handle_ = nullptr;
};

abi::Stream* handle(device::Stream& stream) {
  return static_cast<PluginStream&>(stream).handle();
}
abi::Event* handle(const device::Event& event) {
  return static_cast<const PluginEvent&>(event).handle();
}

class PluginCommunicator final : public comm::Communicator {
 public:
  PluginCommunicator(const abi::Table& table, abi::Device* device, int rank, int size)
      : table_(table), rank_(rank), size_(size) {
    call(table.open_communicator, device, rank, size, &handle_);
  }
  ~PluginCommunicator() override { table_.close_communicator(handle_); }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] comm::Request start(device::Stream& stream,
                                    const comm::Exchange& exchange) override {
    comm::Request request;
    call(table_.start, handle_, handle(stream), static_cast<const void*>(&exchange),
         &request.number);
    return request;
  }
  void progress() override { call(table_.progress, handle_); }
  void wait(comm::Request request, device::Stream& stream) override {
    call(table_.wait_request, handle_, request.number, handle(stream));
  }
  void withdraw() noexcept override { table_.withdraw(handle_); }
  [[nodiscard]] comm::BytesSent bytes_sent() const override {
    comm::BytesSent sent;
    table_.bytes_sent(handle_, sent.of.data());
    return sent;
  }

 private:
  const abi::Table& table_;
  int rank_;
  int size_;
  abi::Communicator* handle_ = nullptr;
};

// The kernel of every kind: the stream knows whose it is.
void launch(device::Stream& stream, const program::OpSpec& op, const ops::Arguments& arguments) {
  const auto& on = static_cast<const PluginStream&>(stream);
  const abi::Op handed = {.op = &op,
                          .operands = arguments.operands.data(),
                          .operand_count = static_cast<int64_t>(arguments.operands.size()),
                          .workspace = arguments.workspace,
                          .layer = arguments.layer,
                          .accumulate = arguments.accumulate ? 1U : 0U};
  Failure failure = {};
  const Status status = on.table().launch(on.handle(), &handed, &failure);
  if (status != Status::done) check(status, failure, program::name_of(op));
}

}  // namespace

PluginDevice::PluginDevice(const Plugin& plugin, int threads) : table_(plugin.table()) {
  call(table_.open_device, threads, &device_);
  for (size_t kind = 0; kind < kernels_.kernels.size(); ++kind)
    if (table_.has_kernel(static_cast<int64_t>(kind)) != 0) kernels_.kernels[kind] = launch;
}

PluginDevice::~PluginDevice() {
  table_.close_device(device_);
}

int64_t PluginDevice::available_bytes() const {
  int64_t bytes = 0;
  call(table_.available_bytes, device_, &bytes);
  return bytes;
}

std::unique_ptr<device::Stream> PluginDevice::make_stream() {
  return std::make_unique<PluginStream>(table_, device_);
}
std::unique_ptr<device::Event> PluginDevice::make_event() {
  return std::make_unique<PluginEvent>(table_, device_);
}

void PluginDevice::record(device::Event& event, device::Stream& stream) {
  call(table_.record, device_, handle(std::as_const(event)), handle(stream));
}
void PluginDevice::wait(device::Stream& stream, const device::Event& event) {
  call(table_.wait, device_, handle(stream), handle(event));
}
void PluginDevice::synchronize(device::Stream& stream) {
  call(table_.synchronize_stream, device_, handle(stream));
}
void PluginDevice::synchronize(const device::Event& event) {
  call(table_.synchronize_event, device_, handle(event));
}

void PluginDevice::copy_in(device::Stream& stream, void* device_memory,
                           std::span<const std::byte> host) {
  call(table_.copy_in, device_, handle(stream), device_memory, host.data(),
       static_cast<int64_t>(host.size()));
}
void PluginDevice::copy_out(device::Stream& stream, std::span<std::byte> host,
                            const void* device_memory) {
  call(table_.copy_out, device_, handle(stream), host.data(), device_memory,
       static_cast<int64_t>(host.size()));
}
void PluginDevice::fill_zero(device::Stream& stream, void* device_memory, int64_t bytes) {
  call(table_.fill_zero, device_, handle(stream), device_memory, bytes);
}

std::unique_ptr<comm::Communicator> PluginDevice::make_communicator(int rank, int size) {
  return std::make_unique<PluginCommunicator>(table_, device_, rank, size);
}

PluginDevice::Peak PluginDevice::peak() {
  abi::Peak found = {};
  call(table_.peak, device_, &found);
  return {.flops = found.flops, .how = found.how};
}

std::byte* PluginDevice::allocate(int64_t bytes) {
  void* memory = nullptr;
  call(table_.allocate, device_, bytes, &memory);
  return static_cast<std::byte*>(memory);
}
void PluginDevice::release(std::byte* memory, int64_t) noexcept {
  table_.release(device_, memory);
}

}  // namespace trireme::plugin
