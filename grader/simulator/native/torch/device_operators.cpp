// A CUDA backend for torch without a GPU: tensors are on device `cuda`, their memory is the host's,
// and every operator runs torch's own CPU kernel on an alias of that memory.
//
// Why not tensors that merely pretend: with a real device type, `is_cuda`, `device()`, `.cpu()`,
// mixed-device errors and the memory of host code's `torch::zeros({n})` (which is the CPU's) are
// torch's own, in Python and in C++, and nothing of the submission has to be rewritten.

#include <torch/library.h>

#include <string>
#include <unordered_set>

#include "device_capture.hpp"

namespace kgsim {
namespace {

// Whether the call was to make large memory zero, and that has been done.
bool zeroed(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  if (op.schema().name() != "aten::zero_") return false;
  const auto& tensor = stack.back().toTensor();
  if (!tensor.is_cuda() || !tensor.is_non_overlapping_and_dense()) return false;
  if (!kgsim_zero(tensor.mutable_data_ptr(), tensor.nbytes())) return false;
  note_written(tensor);
  return true;
}

// Copies one tensor into another that is laid out alike, where that is vast.
bool copied_whole(const at::Tensor& to, const at::Tensor& from) {
  const bool alike = to.is_cuda() && from.is_cuda() && to.dtype() == from.dtype() && to.sizes() == from.sizes() &&
                     to.strides() == from.strides() && to.is_non_overlapping_and_dense() &&
                     to.is_neg() == from.is_neg() && to.is_conj() == from.is_conj();
  if (!alike || !kgsim_copy(to.mutable_data_ptr(), from.const_data_ptr(), to.nbytes())) return false;
  kgsim_note_read(from.const_data_ptr());
  note_written(to);
  return true;
}

// Whether the call was such a copy, and that has been done.
bool copied(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (op.schema().name() == "aten::copy_")
    return copied_whole(torch::jit::peek(*stack, 0, 3).toTensor(), torch::jit::peek(*stack, 1, 3).toTensor()) &&
           (torch::jit::drop(*stack, 2), true);
  if (op.schema().name() != "aten::clone") return false;
  const auto from = torch::jit::peek(*stack, 0, 2).toTensor();
  const auto format = torch::jit::peek(*stack, 1, 2).toOptional<at::MemoryFormat>().value_or(at::MemoryFormat::Preserve);
  const bool as_it_lies = format == at::MemoryFormat::Preserve || from.is_contiguous(format);
  if (!kgsim_is_vast(from.nbytes()) || !as_it_lies || !from.is_non_overlapping_and_dense()) return false;
  const auto to = at::empty_strided(from.sizes(), from.strides(), from.options());
  if (!copied_whole(to, from)) return false;
  torch::jit::drop(*stack, 2);
  torch::jit::push(*stack, to);
  return true;
}

void on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  note_call(op.schema().name());
  if (GraphNode::suits(op)) return GraphNode::keep(op, stack);
  if (zeroed(op, *stack) || copied(op, stack)) return;
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
