// Products and copies with less precision than their operands, where the program asked for it.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace kgsim {

// Rounds float32 operands of a product or a convolution to TF32's 10 bits of mantissa, where torch's switches
// say so: cuBLAS and cuDNN do it on a GPU, torch's CPU kernels don't. `first` is where the
// operator's arguments begin on the stack. Notes what was rounded, and float32 that is copied to half precision.
void round_operands(const c10::OperatorHandle& op, torch::jit::Stack* stack, size_t first);

}  // namespace kgsim
