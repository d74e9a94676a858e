// Operators during a CUDA graph's capture (cudart_graph.cpp): kept, and called when the graph is launched.
#pragma once

#include <memory>
#include <string>

#include "device_shapes.hpp"

namespace kgsim {

// One operator of a graph. Its results have their memory and shapes from the capture on, as on a GPU, and get their
// values at each launch.
class GraphNode {
 public:
  // Whether to keep this call: one of the submission that computes something during a capture.
  static bool suits(const c10::OperatorHandle& op) {
    return kgsim_capturing() && InsideOperator::depth() == 0 && touches(op);
  }

  static void keep(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    if (waits(op, *stack)) {
      kgsim_refuse_in_capture();
      TORCH_CHECK(false, "CUDA error: operation not permitted when stream is capturing");
    }
    auto node = std::make_unique<GraphNode>(op, *stack);
    try {
      ShapesOnly(op).run(stack);
    } catch (const c10::NotImplementedError&) {
      kgsim_missing((op.schema().name() + " in a CUDA graph").c_str());
      throw;
    }
    node->results_.assign(stack->end() - op.schema().returns().size(), stack->end());
    kgsim_give(&run, &drop, node.release());
  }

  GraphNode(const c10::OperatorHandle& op, const torch::jit::Stack& stack)
      : op_(op), arguments_(stack.end() - op.schema().arguments().size(), stack.end()) {}

 private:
  static constexpr int kUnknown = 999;  // cudaErrorUnknown

  // Whether the host would have to wait for the GPU: for values that it needs, or for memory that is not pinned.
  static bool waits(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    const auto& name = op.schema().name();
    const auto count = op.schema().arguments().size();
    const auto argument = [&](size_t i) -> const c10::IValue& { return stack[stack.size() - count + i]; };
    if (name == "aten::copy_")
      return argument(0).toTensor().device() != argument(1).toTensor().device() && !argument(2).toBool();
    if (name == "aten::_to_copy")
      return argument(3).isDevice() && argument(3).toDevice().is_cpu() && !argument(5).toBool();
    if (name.rfind("aten::index", 0) == 0) return has_mask(argument(1));
    return op.hasTag(at::Tag::data_dependent_output) || op.hasTag(at::Tag::dynamic_output_shape);
  }

  static bool has_mask(const c10::IValue& indices) {
    if (!indices.isOptionalTensorList()) return false;
    for (const std::optional<at::Tensor>& index : indices.toOptionalTensorVector())
      if (index && index->defined() && (index->dtype() == at::kBool || index->dtype() == at::kByte)) return true;
    return false;
  }

  static int run(void* data) try {
    const auto& node = *static_cast<GraphNode*>(data);
    auto stack = node.arguments_;
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    node.op_.callBoxed(&stack);
    const auto first = stack.size() - node.results_.size();
    for (size_t i = 0; i < node.results_.size(); ++i) give(stack[first + i], node.results_[i]);
    return 0;
  } catch (const std::exception&) {
    return kUnknown;
  }

  static void drop(void* data) { delete static_cast<GraphNode*>(data); }

  static void give(const c10::IValue& from, const c10::IValue& to) {
    if (to.isTensorList()) {
      const auto values = from.toTensorVector(), places = to.toTensorVector();
      for (size_t i = 0; i < places.size(); ++i) give(values[i], places[i]);
    } else if (to.isTensor()) {
      give(from.toTensor(), to.toTensor());
    }
  }

  static void give(const at::Tensor& from, const at::Tensor& to) {
    if (!to.defined() || from.is_same(to)) return;
    InsideOperator inside;
    to.copy_(from);
  }

  c10::OperatorHandle op_;
  torch::jit::Stack arguments_, results_;
};

}  // namespace kgsim
