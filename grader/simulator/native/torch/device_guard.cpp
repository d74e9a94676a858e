// A device's interface to torch besides operators: its memory, its guard, its hooks. One device, no
// asynchrony: everything is done when the call returns.

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "device_log.hpp"
#include "guard_alloc.hpp"

namespace kgsim {

void register_operators();
void seed_device(uint64_t seed);

namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

constexpr uint8_t kPriority = 200;  // above torch's own allocators

struct GuardedAllocator : c10::Allocator {
  GuardedAllocator(c10::DeviceType type, int kind) : type_(type), kind_(kind) {}

  c10::DataPtr allocate(size_t bytes) override {
    const Device device(type_, type_ == c10::kCUDA ? 0 : -1);
    if (bytes == 0) return {nullptr, nullptr, &kgsim_free, device};
    // An operator's result may become the device's.
    const bool result = kind_ == kKindHost && InsideOperator::depth() > 0;
    void* data = result ? kgsim_alloc_result(bytes) : kgsim_alloc(bytes, kind_);
    if (data == nullptr) refuse(bytes);
    return {data, data, &kgsim_free, device};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &kgsim_free; }

  void copy_data(void* to, const void* from, std::size_t count) const override {
    const DeviceMemoryOpen open;
    std::memcpy(to, from, count);
    kgsim_written(to, count);
  }

 private:
  [[noreturn]] void refuse(size_t bytes) const {
    TORCH_CHECK_WITH(OutOfMemoryError, false,
                     type_ == c10::kCUDA ? "CUDA out of memory. " : "out of memory. ",
                     "Tried to allocate ", bytes, " bytes, with ", kgsim_memory(0),
                     " bytes allocated.");
    std::abort();
  }

  c10::DeviceType type_;
  int kind_;
};

c10::Allocator* pinned_allocator() {
  static GuardedAllocator pinned(c10::kCPU, kKindPinned);
  return &pinned;
}

// The current stream is an id that nothing depends on.
struct SimulatedGuard final : c10::impl::DeviceGuardImplInterface {
  static thread_local c10::StreamId stream;

  static Stream named(c10::StreamId id) {
    return Stream(Stream::UNSAFE, Device(c10::kCUDA, 0), id);
  }

  c10::DeviceType type() const override { return c10::kCUDA; }
  Device getDevice() const override { return {c10::kCUDA, 0}; }
  Device exchangeDevice(Device device) const override {
    setDevice(device);
    return getDevice();
  }
  void setDevice(Device device) const override {
    TORCH_CHECK(device.index() <= 0, "CUDA error: invalid device ordinal");
  }
  void uncheckedSetDevice(Device) const noexcept override {}
  DeviceIndex deviceCount() const noexcept override { return 1; }

  Stream getStream(Device) const noexcept override { return named(stream); }
  Stream getDefaultStream(Device) const override { return named(0); }
  Stream getNewStream(Device, int) const override { return named(next_stream()); }
  Stream getStreamFromGlobalPool(Device, bool) const override { return named(next_stream()); }
  Stream exchangeStream(Stream next) const noexcept override { return named(std::exchange(stream, next.id())); }
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream&) const override {}
  void synchronizeDevice(const DeviceIndex) const override {}

  void record(void** event, const Stream&, const DeviceIndex, const c10::EventFlag) const override {
    *event = this->token();
  }
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  void destroyEvent(void*, const DeviceIndex) const noexcept override {}

  static c10::StreamId next_stream() {
    static c10::StreamId count = 0;
    return 8 * (++count % 32 + 1);
  }

 private:
  static void* token() {
    static char token;
    return &token;
  }
};

thread_local c10::StreamId SimulatedGuard::stream = 0;

// Functions of a CUDA library that torch calls and may have been built without.
struct SimulatedHooks final : at::CUDAHooksInterface {
  explicit SimulatedHooks(at::CUDAHooksArgs) {}
  bool hasCUDA() const override { return true; }
  bool hasCUDART() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  bool compiledWithCuDNN() const override { return false; }
  long versionCuDNN() const override { return 91000; }
  long versionCUDART() const override { return 13000; }
  // Not in every torch, hence without `override`. Autograd asks whether it is built, pinned memory for the allocator.
  void init() const {}
  c10::Allocator* getPinnedMemoryAllocator() const { return pinned_allocator(); }
  bool isBuilt() const { return true; }
  bool isAvailable() const { return true; }
  long versionRuntimeCuDNN() const { return 91000; }
  bool isGPUArch(const std::vector<std::string>&, DeviceIndex = -1) const { return false; }
  bool isPinnedPtr(const void* data) const override { return kgsim_kind(data) == kKindPinned; }
  int getNumGPUs() const override { return 1; }
  DeviceIndex deviceCount() const override { return 1; }
  DeviceIndex current_device() const override { return 0; }
  DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(DeviceIndex) const override {}
  DeviceIndex exchangeDevice(DeviceIndex) const override { return 0; }
  DeviceIndex maybeExchangeDevice(DeviceIndex) const override { return 0; }
  c10::Allocator* getCUDADeviceAllocator() const override { return c10::GetAllocator(c10::kCUDA); }
};

// Taking over the operators of a CUDA build is meant: no warning of it.
struct Silence final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

// torch asks its registry once. A CPU build has not asked, or found nothing; a CUDA build may hold
// its real hooks by now, so the object is given our functions: hooks have no data.
void install_hooks() {
  at::CUDAHooksRegistry()->Register(
      "CUDAHooks",
      [](at::CUDAHooksArgs args) -> std::unique_ptr<at::CUDAHooksInterface> {
        return std::make_unique<SimulatedHooks>(args);
      },
      c10::REGISTRY_PREFERRED);
  static SimulatedHooks ours{at::CUDAHooksArgs{}};
  const auto& theirs = at::detail::getCUDAHooks();
  std::memcpy(const_cast<void*>(static_cast<const void*>(&theirs)), static_cast<const void*>(&ours),
              sizeof(void*));
}

}  // namespace
}  // namespace kgsim

using namespace kgsim;

extern "C" __attribute__((visibility("default"))) void kgsim_torch_install() {
  static GuardedAllocator device(c10::kCUDA, kKindDevice), host(c10::kCPU, kKindHost);
  static SimulatedGuard guard;
  Silence silence;
  c10::WarningUtils::WarningHandlerGuard no_warnings(&silence);
  install_hooks();
  c10::SetAllocator(c10::kCUDA, &device, kPriority);
  c10::SetAllocator(c10::kCPU, &host, kPriority);
  c10::impl::device_guard_impl_registry[static_cast<size_t>(c10::kCUDA)].store(&guard);
  register_operators();
  watch_operators();
}

extern "C" __attribute__((visibility("default"))) void kgsim_torch_seed(uint64_t seed) {
  seed_device(seed);
}

extern "C" __attribute__((visibility("default"))) void kgsim_torch_resize(void* storage, size_t bytes) {
  auto* impl = static_cast<c10::StorageImpl*>(storage);
  auto* allocator = c10::GetAllocator(c10::kCUDA);
  auto made = allocator->allocate(bytes);
  if (const auto kept = std::min(bytes, impl->nbytes())) allocator->copy_data(made.get(), impl->data(), kept);
  impl->set_data_ptr_noswap(std::move(made));
  impl->set_nbytes(bytes);
}
