// A CUDA backend for torch without a GPU: tensors are on device `cuda`, their memory is the host's,
// and every operator runs torch's own CPU kernel on an alias of that memory.
//
// Why not tensors that merely pretend: with a real device type, `is_cuda`, `device()`, `.cpu()`,
// mixed-device errors and the memory of host code's `torch::zeros({n})` (which is the CPU's) are
// torch's own, in Python and in C++, and nothing of the submission has to be rewritten.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "device_log.hpp"
#include "guard_alloc.hpp"

namespace kgsim {
namespace {

const c10::Device kCuda(c10::kCUDA, 0);

void copy_geometry(const at::Tensor& from, const at::Tensor& to) {
  to.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides(),
                                                  from.storage_offset());
  to._set_conj(from.is_conj());
  to._set_neg(from.is_neg());
}

at::Tensor over(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like) {
  auto result = at::detail::make_tensor<c10::TensorImpl>(std::move(storage),
                                                         c10::DispatchKeySet(key), like.dtype());
  copy_geometry(like, result);
  if (like.unsafeGetTensorImpl()->is_wrapped_number())
    result.unsafeGetTensorImpl()->set_wrapped_number(true);
  return result;
}

// The device's storages of one call, each with a CPU storage over the same memory. (CPU tensors over
// the device's own storage won't do: torch takes the device of every view from the storage.)
class Storages {
 public:
  c10::Storage alias(const c10::Storage& storage) {
    for (auto& [original, alias] : pairs_)
      if (original.is_alias_of(storage)) return alias;
    auto* impl = storage.unsafeGetStorageImpl();
    pairs_.emplace_back(storage, c10::make_intrusive<c10::StorageImpl>(
                                     c10::StorageImpl::use_byte_size_t(), impl->sym_nbytes(),
                                     c10::DataPtr(impl->mutable_data(), c10::Device(c10::kCPU)),
                                     c10::GetAllocator(c10::kCPU), true));
    return pairs_.back().second;
  }

  // The device's storage for one of the CPU's: the one it stands for, or made the device's.
  c10::Storage device(const c10::Storage& storage, bool written) {
    for (auto& [original, alias] : pairs_)
      if (alias.is_alias_of(storage)) return original;
    give_to_device(storage, written);
    return storage;
  }

  // An operator may have given an alias other memory (resize_, out=).
  void write_back(bool written) {
    for (auto& [original, alias] : pairs_) {
      if (alias.data() == original.data() && alias.nbytes() == original.nbytes()) continue;
      auto* impl = original.unsafeGetStorageImpl();
      if (alias.data() != original.data()) {
        give_to_device(alias, written);
        impl->set_data_ptr_noswap(
            std::move(alias.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks()));
      }
      impl->set_nbytes(alias.nbytes());
    }
  }

 private:
  static void give_to_device(const c10::Storage& storage, bool written) {
    auto* impl = storage.unsafeGetStorageImpl();
    kgsim_to_device(impl->mutable_data(), written);
    impl->_mutable_data_ptr_no_checks().unsafe_set_device(kCuda);
    impl->set_allocator(c10::GetAllocator(c10::kCUDA));
  }

  std::vector<std::pair<c10::Storage, c10::Storage>> pairs_;
};

// Tells the simulator which bytes an operator wrote: each run of adjacent elements.
void note_written(const at::Tensor& tensor, const char* data, int64_t dim = 0) {
  if (tensor.numel() == 0) return;
  const auto size = static_cast<int64_t>(tensor.itemsize());
  if (dim == 0 && tensor.is_non_overlapping_and_dense()) {
    kgsim_written(data, tensor.numel() * size);
  } else if (dim == tensor.dim()) {
    kgsim_written(data, size);
  } else {
    for (int64_t i = 0; i < tensor.size(dim); ++i)
      note_written(tensor, data + i * tensor.stride(dim) * size, dim + 1);
  }
}

void note_written(const at::Tensor& tensor) {
  if (tensor.defined() && tensor.is_cuda())
    note_written(tensor, static_cast<const char*>(tensor.const_data_ptr()));
}

// What the device draws are numbers of its own: they leave the CPU's as they are.
at::Generator& device_generator() {
  static auto* generator = new at::Generator(at::detail::createCPUGenerator());
  return *generator;
}

// While one lives, an operator that draws draws the device's numbers.
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

// One call of an operator: its device tensors swapped for aliases, and back.
class Call {
 public:
  explicit Call(const c10::OperatorHandle& op) : op_(op) {}

  void run(torch::jit::Stack* stack) {
    const auto count = op_.schema().arguments().size();
    const auto first = stack->size() - count;
    for (size_t i = 0; i < count; ++i) {
      auto& value = (*stack)[first + i];
      const auto* alias = op_.schema().arguments()[i].alias_info();
      if (alias != nullptr && alias->isWrite()) note_target(value);
      value = inward(value);
    }
    check_context();
    check_devices();
    {
      const DeviceNumbers numbers(op_);
      std::optional<DeviceMemoryOpen> open;
      if (touches()) open.emplace();
      at::AutoDispatchBelowADInplaceOrView below_autograd;
      InsideOperator inside;
      widen_softmax(stack);
      op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
    }
    storages_.write_back(writes());
    for (auto& [original, alias] : pairs_) write_back(original, alias);
    const auto results = op_.schema().returns().size();
    for (auto i = stack->size() - results; i < stack->size(); ++i)
      (*stack)[i] = outward((*stack)[i]);
    for (const auto& target : targets_) note_written(target);
  }

 private:
  void note_target(const c10::IValue& value) {
    if (value.isTensor()) targets_.push_back(value.toTensor());
    if (value.isTensorList())
      for (const at::Tensor& tensor : value.toTensorVector()) targets_.push_back(tensor);
  }

  at::Tensor inward(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (!tensor.is_cuda()) {
      cpu_argument_ |= tensor.dim() > 0;
      return tensor;
    }
    for (auto& [original, alias] : pairs_)
      if (original.is_same(tensor)) return alias;
    pairs_.emplace_back(
        tensor, over(storages_.alias(tensor.storage()), c10::DispatchKey::CPU, tensor));
    return pairs_.back().second;
  }

  c10::IValue inward(const c10::IValue& value) {
    if (value.isTensor()) return inward(value.toTensor());
    if (value.isDevice()) {
      to_cpu_ = value.toDevice().is_cpu();
      return value.toDevice().is_cuda() ? c10::IValue(c10::Device(c10::kCPU)) : value;
    }
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(inward(tensor));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
        list.push_back(tensor ? std::optional(inward(*tensor)) : std::nullopt);
      return list;
    }
    return value;
  }

  // CUDA's softmax of halves can give floats; the CPU's can't.
  void widen_softmax(torch::jit::Stack* stack) const {
    const auto& name = op_.schema().name();
    if (name != "aten::_softmax" && name != "aten::_log_softmax") return;
    auto& to_float = torch::jit::peek(*stack, 2, 3);
    if (!to_float.isBool() || !to_float.toBool()) return;
    auto& input = torch::jit::peek(*stack, 0, 3);
    input = input.toTensor().to(at::kFloat);
    to_float = false;
  }

  at::Tensor outward(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.is_cuda()) return tensor;
    for (auto& [original, alias] : pairs_)
      if (alias.is_same(tensor)) return original;
    if (to_cpu_) return tensor;
    return over(storages_.device(tensor.storage(), writes()), c10::DispatchKey::CUDA, tensor);
  }

  c10::IValue outward(const c10::IValue& value) {
    if (value.isTensor()) return outward(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(outward(tensor));
      return list;
    }
    return value;
  }

  // out= arguments may have been resized, or given another storage (set_).
  void write_back(const at::Tensor& original, const at::Tensor& alias) {
    const auto storage = storages_.device(alias.storage(), writes());
    if (!storage.is_alias_of(original.storage()))
      original.unsafeGetTensorImpl()->set_storage_keep_dtype(storage);
    if (original.sizes() != alias.sizes() || original.strides() != alias.strides() ||
        original.storage_offset() != alias.storage_offset())
      copy_geometry(alias, original);
  }

  // Whether what it returns has values: all but the makers of empty tensors.
  bool writes() const { return op_.schema().name().find("empty") == std::string::npos; }

  // Where torch would look for errors: at every call that needs the context, and after its launches.
  void check_context() const {
    const char* error = kgsim_lost();
    if (error == nullptr && launches()) error = kgsim_launch_error();
    TORCH_CHECK(error == nullptr, "CUDA error: ", error);
  }

  // Whether a real GPU would run a kernel: no view, no allocation, no plain copy.
  bool launches() const {
    static const std::unordered_set<std::string> plain = {
        "aten::copy_", "aten::_to_copy", "aten::clone", "aten::_local_scalar_dense",
        "aten::resize_", "aten::set_", "aten::_copy_from", "aten::is_pinned"};
    return touches() && !plain.count(op_.schema().name());
  }

  // Whether it reads or writes values: no view, no allocation.
  bool touches() const {
    if (!writes()) return false;
    for (const auto& result : op_.schema().returns())
      if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) return false;
    return true;
  }

  void check_devices() const {
    static const std::unordered_set<std::string> mixed = {
        "aten::copy_", "aten::_copy_from", "aten::_to_copy", "aten::index", "aten::index_put_",
        "aten::_index_put_impl_", "aten::_unsafe_index", "aten::index_put", "aten::set_"};
    if (!cpu_argument_ || pairs_.empty() || mixed.count(op_.schema().name())) return;
    TORCH_CHECK(false,
                "Expected all tensors to be on the same device, but found at least two devices, "
                "cuda:0 and cpu! (when checking arguments of ", op_.schema().name(), ")");
  }

  const c10::OperatorHandle& op_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;
  std::vector<at::Tensor> targets_;
  Storages storages_;
  bool cpu_argument_ = false;
  bool to_cpu_ = false;
};

// One call in a rehearsal whose tensors are large: its results have a shape, and no values.
class ShapesOnly {
 public:
  explicit ShapesOnly(const c10::OperatorHandle& op) : op_(op) {}

  // Whether the call reads or makes so much.
  bool suits(const torch::jit::Stack& stack) const {
    if (!kgsim_rehearsal() || op_.schema().name().find("empty") != std::string::npos) return false;
    for (const auto& result : op_.schema().returns())
      if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) return false;
    const auto count = op_.schema().arguments().size();
    for (size_t i = stack.size() - count; i < stack.size(); ++i)
      if (is_large(stack[i])) return true;
    return false;
  }

  void run(torch::jit::Stack* stack) {
    InsideOperator inside;
    const auto count = op_.schema().arguments().size();
    for (auto i = stack->size() - count; i < stack->size(); ++i) (*stack)[i] = inward((*stack)[i]);
    {
      at::AutoDispatchBelowADInplaceOrView below_autograd;
      op_.callBoxed(stack);
    }
    for (auto i = stack->size() - op_.schema().returns().size(); i < stack->size(); ++i)
      (*stack)[i] = outward((*stack)[i]);
  }

 private:
  static constexpr int64_t kLarge = int64_t{64} << 20;  // bytes

  static bool is_large(const c10::IValue& value) {
    if (value.isTensor()) {
      const auto& tensor = value.toTensor();
      return tensor.defined() && static_cast<int64_t>(tensor.nbytes()) > kLarge;
    }
    if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector())
        if (tensor.defined() && static_cast<int64_t>(tensor.nbytes()) > kLarge) return true;
    }
    if (!value.isIntList()) return false;
    int64_t elements = 1;  // of the sizes that torch.zeros and the like are given
    for (const int64_t size : value.toIntVector()) elements *= std::clamp<int64_t>(size, 1, kLarge);
    return elements > kLarge / 4;
  }

  at::Tensor inward(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    pairs_.emplace_back(tensor, at::empty_strided(tensor.sizes(), tensor.strides(),
                                                  tensor.options().device(c10::kMeta)));
    return pairs_.back().second;
  }

  c10::IValue inward(const c10::IValue& value) {
    if (value.isTensor()) return inward(value.toTensor());
    if (value.isDevice()) return c10::IValue(c10::Device(c10::kMeta));
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(inward(tensor));
      return list;
    }
    return value;
  }

  at::Tensor outward(const at::Tensor& tensor) const {
    for (const auto& [original, meta] : pairs_)
      if (meta.is_same(tensor)) return original;
    if (!tensor.defined()) return tensor;
    return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(kCuda));
  }

  c10::IValue outward(const c10::IValue& value) const {
    if (value.isTensor()) return outward(value.toTensor());
    if (!value.isTensorList()) return value;
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(outward(tensor));
    return list;
  }

  const c10::OperatorHandle& op_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;
};

// Whether the call was to make large memory zero, and that has been done.
bool zeroed(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  if (op.schema().name() != "aten::zero_") return false;
  const auto& tensor = stack.back().toTensor();
  if (!tensor.is_cuda() || !tensor.is_non_overlapping_and_dense()) return false;
  if (!kgsim_zero(tensor.mutable_data_ptr(), tensor.nbytes())) return false;
  note_written(tensor);
  return true;
}

void on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  note_call(op.schema().name());
  if (zeroed(op, *stack)) return;
  ShapesOnly shapes(op);
  if (shapes.suits(*stack)) shapes.run(stack);
  else Call(op).run(stack);
}

void do_nothing(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  torch::jit::drop(*stack, op.schema().arguments().size());
}

// 0 is SDPBackend::math: the fused kernels exist for real devices only.
void choose_math(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  torch::jit::drop(*stack, op.schema().arguments().size());
  torch::jit::push(*stack, int64_t{0});
}

// Composite operators whose CUDA branch calls kernels that no CPU has.
const std::unordered_set<std::string> kWhole = {
    "aten::lstm",     "aten::gru",           "aten::rnn_tanh",      "aten::rnn_relu",
    "aten::rms_norm", "aten::lstm_cell", "aten::gru_cell",     "aten::rnn_tanh_cell", "aten::rnn_relu_cell"};

// Made of `empty` and `zero_` by torch itself.
const std::unordered_set<std::string> kOfZeros = {"aten::zeros", "aten::zeros_like", "aten::new_zeros"};

bool takes(const c10::OperatorHandle& op) {
  using c10::DispatchKey;
  if (kOfZeros.count(op.schema().name())) return false;
  if (op.schema().name().rfind("aten::", 0) != 0) return false;
  if (kWhole.count(op.schema().name())) return true;
  if (op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd)) return false;
  return op.hasKernelForDispatchKey(DispatchKey::CPU) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional);
}

torch::Library& library() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA,
                                            __FILE__, __LINE__);
  return *library;
}

template <c10::BoxedKernel::BoxedKernelFunction* kernel>
void take(const c10::OperatorName& name) {
  const auto full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
  library().impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<kernel>());
}

}  // namespace

void seed_device(uint64_t seed) { device_generator().set_current_seed(seed); }

void register_operators() {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (!op) continue;
    if (name.name == "aten::record_stream") {
      take<&do_nothing>(name);
    } else if (name.name == "aten::_fused_sdp_choice") {
      take<&choose_math>(name);
    } else if (takes(*op)) {
      take<&on_cpu>(name);
    }
  }
}

}  // namespace kgsim
