// Random numbers of the device.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <mutex>

namespace kgsim {

// The device draws its own random numbers and leaves the CPU's generator unchanged.
inline at::Generator& device_generator() {
  static auto* generator = new at::Generator(at::detail::createCPUGenerator());
  return *generator;
}

// While one lives, operators draw the device's random numbers.
class DeviceNumbers {
 public:
  explicit DeviceNumbers(const c10::OperatorHandle& op)
      : draws_(op.hasTag(at::Tag::nondeterministic_seeded)) {
    if (draws_) swap();
  }
  ~DeviceNumbers() {
    if (draws_) swap();
  }
  DeviceNumbers(const DeviceNumbers&) = delete;
  DeviceNumbers& operator=(const DeviceNumbers&) = delete;

 private:
  static void swap() {
    auto cpu = at::detail::getDefaultCPUGenerator();
    const std::lock_guard<std::mutex> lock(cpu.mutex());
    const auto theirs = cpu.get_state();
    cpu.set_state(device_generator().get_state());
    device_generator().set_state(theirs);
  }

  bool draws_;
};

}  // namespace kgsim
