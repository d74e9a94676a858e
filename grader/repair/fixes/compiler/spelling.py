"""Names that don't exist as they are written: misspelt ones, Python's, ones without their namespace."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from grader.records import Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import cuda_code, units

KNOWN = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "__syncthreads", "__syncwarp", "__shfl_down_sync",
    "__shfl_up_sync", "__shfl_xor_sync", "__shfl_sync", "__ballot_sync", "__any_sync", "__all_sync", "__ldg", "atomicAdd",
    "rsqrtf", "sqrtf", "expf", "logf", "tanhf", "fmaxf", "fminf", "fabsf", "powf", "erff", "__expf", "__logf",
    "cudaMemcpyAsync", "cudaMemsetAsync", "cudaGetLastError", "cudaDeviceSynchronize", "cudaSuccess",
    "FLT_MAX", "FLT_MIN", "DBL_MAX", "INT_MAX", "INT_MIN", "INFINITY", "M_PI", "TORCH_CHECK",
    *(f"CUBLAS_{name}" for name in (
        "OP_N", "OP_T", "OP_C", "FILL_MODE_LOWER", "FILL_MODE_UPPER", "FILL_MODE_FULL", "SIDE_LEFT", "SIDE_RIGHT",
        "DIAG_NON_UNIT", "DIAG_UNIT", "POINTER_MODE_HOST", "POINTER_MODE_DEVICE", "COMPUTE_32F", "COMPUTE_32F_FAST_TF32",
        "COMPUTE_16F", "GEMM_DEFAULT", "GEMM_DEFAULT_TENSOR_OP", "STATUS_SUCCESS", "DEFAULT_MATH", "TF32_TENSOR_OP_MATH",
    )),
    "CUDA_R_32F", "CUDA_R_16F", "CUDA_R_16BF", "CUDA_R_64F", "cudaMemcpyDeviceToDevice", "cudaMemcpyDeviceToHost",
    "cudaMemcpyHostToDevice", "cudaFuncAttributeMaxDynamicSharedMemorySize",
)  # fmt: skip
"""Names of CUDA and its libraries that are often misremembered."""
MEANT = {"inf": "INFINITY", "Inf": "INFINITY", "FLOAT_MAX": "FLT_MAX", "FLOAT_MIN": "FLT_MIN", "nan": "NAN",
         "CUDART_INF_F": "INFINITY", "PI": "3.14159265358979f", "pi": "3.14159265358979f",
         "syncthreads": "__syncthreads", "ulong": "unsigned long", "long64": "int64_t",
         "AT_CHECK": "TORCH_CHECK", "THCudaCheck": "C10_CUDA_CHECK", "THCCeilDiv": "at::ceil_div",
         "None": "nullptr", "True": "true", "False": "false"}  # fmt: skip
"""What some names mean that Python, or nobody, has."""
TORCH = (
    "Tensor", "TensorOptions", "empty", "empty_like", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like",
    "kFloat32", "kFloat", "kFloat16", "kHalf", "kBFloat16", "kFloat64", "kDouble", "kInt32", "kInt", "kInt64", "kLong",
    "kBool", "kUInt8", "kCUDA", "kCPU", "IntArrayRef", "ScalarType", "TensorList", "Device", "Scalar", "matmul",
)  # fmt: skip
STANDARD = ("vector", "tuple", "make_tuple", "pair", "make_pair", "optional", "nullopt", "string", "array", "get", "tie")  # fmt: skip
ALIKE = 0.84
SHORT = 3


def respell_name(found: Diagnostic) -> Iterator[Fix]:
    """Yield the ways to write the unknown name as it may be meant."""
    for meant in _names_meant(found) if found.unknown else ():
        edits = [replace_node(unit, node, meant) for unit, node in found.uses(found.unknown)]
        yield from fix(f"write {meant}", edits)


def _names_meant(found: Diagnostic) -> list[str]:
    """Return what a name may be meant to be: what everybody means by it, its name in a namespace, one almost like it."""
    name = found.unknown
    if name in MEANT:
        return [MEANT[name]]
    if name in TORCH or name in STANDARD:
        return [f"torch::{name}" if name in TORCH else f"std::{name}"]
    if len(name) <= SHORT:
        return []
    own = [other for unit in units(found.source) for other in cuda_code(unit).names]
    known = [other for other in (*KNOWN, *own) if other != name and len(other) > SHORT]
    return list(dict.fromkeys(get_close_matches(name, known, 2, ALIKE)))
