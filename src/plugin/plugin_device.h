#pragma once
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "device/device.h"
#include "ops/kernel.h"
#include "plugin/plugin.h"

namespace trireme::plugin {

/// A device of a plugin.
class PluginDevice final : public device::Device {
 public:
  /// threads: of the host that it may use. The plugin outlives the device.
  PluginDevice(const Plugin& plugin, int threads);
  ~PluginDevice() override;

  [[nodiscard]] std::string_view name() const override { return table_.name; }
  [[nodiscard]] int64_t available_bytes() const override;

  [[nodiscard]] std::unique_ptr<device::Stream> make_stream() override;
  [[nodiscard]] std::unique_ptr<device::Event> make_event() override;
  void record(device::Event& event, device::Stream& stream) override;
  void wait(device::Stream& stream, const device::Event& event) override;
  void synchronize(device::Stream& stream) override;
  void synchronize(const device::Event& event) override;
  void copy_in(device::Stream& stream, void* device_memory,
               std::span<const std::byte> host) override;
  void copy_out(device::Stream& stream, std::span<std::byte> host,
                const void* device_memory) override;
  void fill_zero(device::Stream& stream, void* device_memory, int64_t bytes) override;

  /// For streams of this device.
  [[nodiscard]] const ops::KernelTable& kernels() const { return kernels_; }

  /// A group of ranks that each have such a device, seen from one of them. The device outlives it.
  [[nodiscard]] std::unique_ptr<comm::Communicator> make_communicator(int rank, int size);

  /// FLOP/s that count as all of the device, and how they are known, as in "the data sheet's".
  struct Peak {
    double flops = 0;
    std::string how;
  };
  [[nodiscard]] Peak peak();

 private:
  std::byte* allocate(int64_t bytes) override;
  void release(std::byte* memory, int64_t bytes) noexcept override;

  const abi::Table& table_;
  abi::Device* device_ = nullptr;
  ops::KernelTable kernels_;
};

}  // namespace trireme::plugin
