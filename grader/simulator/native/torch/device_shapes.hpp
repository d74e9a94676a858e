// Operators without values.
#pragma once

#include <ATen/ops/empty_strided.h>

#include <algorithm>

#include "device_call.hpp"

namespace kgsim {

// One call whose results have a shape but no values: of large tensors in a dry run, or kept for a graph.
class ShapesOnly {
 public:
  explicit ShapesOnly(const c10::OperatorHandle& op) : op_(op) {}

  // Whether the call reads or creates that much.
  bool suits(const torch::jit::Stack& stack) const {
    // Giving a tensor other memory computes nothing, and must change its shape.
    const auto& name = op_.schema().name();
    if (!kgsim_dry_run() || !touches(op_) || name == "aten::set_" || name == "aten::resize_") return false;
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
    int64_t elements = 1;  // of the sizes passed to torch.zeros and the like
    for (const int64_t size : value.toIntVector()) elements *= std::clamp<int64_t>(size, 1, kLarge);
    return elements > kLarge / 4;
  }

  at::Tensor inward(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return tensor;
    pairs_.emplace_back(tensor, at::empty_strided(tensor.sizes(), tensor.strides(),
                                                  tensor.options().device(c10::kMeta)));
    return pairs_.back().second;
  }

  c10::IValue inward(const c10::IValue& value) {
    if (value.isDevice()) return c10::IValue(c10::Device(c10::kMeta));
    return with_tensors(value, [this](const at::Tensor& tensor) { return inward(tensor); });
  }

  at::Tensor outward(const at::Tensor& tensor) const {
    for (const auto& [original, meta] : pairs_)
      if (meta.is_same(tensor)) return original;
    if (!tensor.defined()) return tensor;
    return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(kCuda));
  }

  c10::IValue outward(const c10::IValue& value) const {
    return with_tensors(value, [this](const at::Tensor& tensor) { return outward(tensor); });
  }

  const c10::OperatorHandle& op_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;
};

}  // namespace kgsim
