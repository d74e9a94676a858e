// Effects of TF32 and half precision on the values of torch's own operators.

#include "device_precision.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/Context.h>

#include <string>
#include <unordered_map>

#include "device_log.hpp"

namespace kgsim {
namespace {

enum class Library { blas, dnn };

struct Product {
  Library library;
  size_t left, right;  // which arguments are multiplied
};

// Matrix-vector products and dot products run on no tensor cores.
const std::unordered_map<std::string, Product> kProducts = {
    {"aten::mm", {Library::blas, 0, 1}},
    {"aten::bmm", {Library::blas, 0, 1}},
    {"aten::addmm", {Library::blas, 1, 2}},
    {"aten::addmm_", {Library::blas, 1, 2}},
    {"aten::_addmm_activation", {Library::blas, 1, 2}},
    {"aten::addbmm", {Library::blas, 1, 2}},
    {"aten::addbmm_", {Library::blas, 1, 2}},
    {"aten::baddbmm", {Library::blas, 1, 2}},
    {"aten::baddbmm_", {Library::blas, 1, 2}},
    {"aten::convolution", {Library::dnn, 0, 1}},
    {"aten::_convolution", {Library::dnn, 0, 1}},
    {"aten::convolution_overrideable", {Library::dnn, 0, 1}},
};

// Torch has an older and a newer switch for each library, the newer ones one for each kind of operator, and refuses to
// speak for both where they disagree: then one of them is on.
bool in_tf32(Library library) {
  const auto& context = at::globalContext();
  try {
    return library == Library::blas ? context.allowTF32CuBLAS() : context.allowTF32CuDNN();
  } catch (const c10::Error&) {
    return true;
  }
}

// To the nearest of 10 bits of mantissa, ties away from zero, as cvt.rna.tf32 does.
at::Tensor rounded(const at::Tensor& tensor) {
  auto made = tensor.clone(at::MemoryFormat::Contiguous);
  auto* values = static_cast<uint32_t*>(made.mutable_data_ptr());
  for (int64_t i = 0; i < made.numel(); ++i)
    if ((values[i] & 0x7f800000u) != 0x7f800000u) values[i] = (values[i] + 0x1000u) & 0xffffe000u;
  return made;
}

void note_halves(const std::string& name, const torch::jit::Stack& stack, size_t first) {
  if (name != "aten::_to_copy" && name != "aten::copy_") return;
  const bool copies = name == "aten::copy_";
  const auto& source = stack[first + (copies ? 1 : 0)];
  if (!source.isTensor() || source.toTensor().scalar_type() != at::kFloat) return;
  const auto& asked = stack[first + (copies ? 0 : 1)];
  auto kind = at::kFloat;
  if (asked.isTensor()) kind = asked.toTensor().scalar_type();
  if (asked.isInt()) kind = static_cast<at::ScalarType>(asked.toInt());
  if (kind == at::kHalf) note_narrowed("float16", name);
  if (kind == at::kBFloat16) note_narrowed("bfloat16", name);
}

}  // namespace

void round_operands(const c10::OperatorHandle& op, torch::jit::Stack* stack, size_t first) {
  const auto& name = op.schema().name();
  note_halves(name, *stack, first);
  const auto found = kProducts.find(name);
  if (found == kProducts.end()) return;
  auto &left = (*stack)[first + found->second.left], &right = (*stack)[first + found->second.right];
  for (const auto* value : {&left, &right})
    if (!value->isTensor() || value->toTensor().scalar_type() != at::kFloat) return;
  if (!in_tf32(found->second.library)) return;
  left = rounded(left.toTensor());
  right = rounded(right.toTensor());
  note_narrowed("tf32", name);
}

}  // namespace kgsim
