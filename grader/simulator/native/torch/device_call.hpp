// One call of an operator on the device, done by torch's CPU kernel.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>

#include <optional>
#include <string>
#include <unordered_set>

#include "device_log.hpp"
#include "device_numbers.hpp"
#include "device_precision.hpp"
#include "device_storages.hpp"
#include "device_values.hpp"

namespace kgsim {

// Whether an operator's result has values: all but the constructors of empty tensors.
inline bool writes(const c10::OperatorHandle& op) { return op.schema().name().find("empty") == std::string::npos; }

// Whether it reads or writes values: no view, no allocation.
inline bool touches(const c10::OperatorHandle& op) {
  if (!writes(op)) return false;
  for (const auto& result : op.schema().returns())
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) return false;
  return true;
}

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
      if (touches(op_)) open.emplace();
      at::AutoDispatchBelowADInplaceOrView below_autograd;
      InsideOperator inside;
      widen_softmax(stack);
      round_operands(op_, stack, first);
      op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
    }
    storages_.write_back(writes(op_));
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
    if (value.isDevice()) {
      to_cpu_ = value.toDevice().is_cpu();
      return value.toDevice().is_cuda() ? c10::IValue(c10::Device(c10::kCPU)) : value;
    }
    if (value.isStorage() && value.toStorage().device().is_cuda())
      return c10::IValue(storages_.alias(value.toStorage()));
    return with_tensors(value, [this](const at::Tensor& tensor) { return inward(tensor); });
  }

  // CUDA's softmax of halves can return floats; the CPU's can't.
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
    const auto result = over(storages_.device(tensor.storage(), writes(op_)), c10::DispatchKey::CUDA, tensor);
    for (auto& [original, alias] : pairs_)
      if (result.storage().is_alias_of(original.storage()) && original.is_inference() != result.is_inference())
        return view_of(original, result);
    return result;
  }

  c10::IValue outward(const c10::IValue& value) {
    return with_tensors(value, [this](const at::Tensor& tensor) { return outward(tensor); });
  }

  // out= arguments may have been resized, or given another storage (set_).
  void write_back(const at::Tensor& original, const at::Tensor& alias) {
    const auto storage = storages_.device(alias.storage(), writes(op_));
    if (!storage.is_alias_of(original.storage()))
      original.unsafeGetTensorImpl()->set_storage_keep_dtype(storage);
    if (original.sizes() != alias.sizes() || original.strides() != alias.strides() ||
        original.storage_offset() != alias.storage_offset())
      copy_geometry(alias, original);
  }

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
    return touches(op_) && !plain.count(op_.schema().name());
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

}  // namespace kgsim
