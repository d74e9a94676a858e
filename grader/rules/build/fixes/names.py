"""Fixes of names that don't exist as written: misspelt ones, ones without their namespace, macros of tutorials."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from grader.rules.build.fixes.device_code import device_constant
from grader.rules.build.fixes.undefined import first_code, unknown, uses
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import cuda_code, read_call, text
from grader.source.statements import insert_before

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

BUILTINS = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "__syncthreads", "__syncwarp", "__shfl_down_sync",
    "__shfl_up_sync", "__shfl_xor_sync", "__shfl_sync", "__ballot_sync", "__any_sync", "__all_sync", "__ldg", "atomicAdd",
    "rsqrtf", "sqrtf", "expf", "logf", "tanhf", "fmaxf", "fminf", "fabsf", "powf", "erff", "__expf", "__logf",
    "cudaMemcpyAsync", "cudaMemsetAsync", "cudaGetLastError", "cudaDeviceSynchronize", "cudaSuccess",
    "FLT_MAX", "FLT_MIN", "DBL_MAX", "INT_MAX", "INT_MIN", "INFINITY", "M_PI", "TORCH_CHECK",
)  # fmt: skip
MEANT = {"inf": "INFINITY", "Inf": "INFINITY", "FLOAT_MAX": "FLT_MAX", "FLOAT_MIN": "FLT_MIN", "nan": "NAN",
         "CUDART_INF_F": "INFINITY", "PI": "3.14159265358979f", "pi": "3.14159265358979f",
         "syncthreads": "__syncthreads", "ulong": "unsigned long", "long64": "int64_t"}  # fmt: skip
"""What some names mean that Python, or nobody, has."""
ALIKE = 0.84
TORCH = (
    "Tensor", "TensorOptions", "empty", "empty_like", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like",
    "kFloat32", "kFloat", "kFloat16", "kHalf", "kBFloat16", "kFloat64", "kDouble", "kInt32", "kInt", "kInt64", "kLong",
    "kBool", "kUInt8", "kCUDA", "kCPU", "IntArrayRef", "ScalarType", "TensorList", "Device", "Scalar", "matmul",
)  # fmt: skip
STANDARD = (
    "vector",
    "tuple",
    "make_tuple",
    "pair",
    "make_pair",
    "optional",
    "nullopt",
    "string",
    "array",
    "get",
    "tie",
)
_OF_TORCH = re.compile(
    r"\b(?:torch|at)[\"'\u2019]? has no member \"((?:exp|log|log2|log10|sqrt|rsqrt|tanh|sin|cos|pow|floor|ceil|erf)f)\""
)
CHECKS = re.compile(r"\w*(?:CHECK|ASSERT|CUDA_CALL|CUDA_SAFE|ERRCHK|ERROR)\w*", re.IGNORECASE)
SIZES = (("WARP", "32"), ("TILE", "16"), ("EPS", "1e-5f"), ("BLOCK", "256"), ("THREAD", "256"))
"""What a constant that is defined nowhere is most likely meant to be, by a part of its name."""


def builtin(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Write a name of CUDA or C the way it is written, where it is almost that."""
    name = unknown(item)
    meant = MEANT.get(name) or next(iter(get_close_matches(name, BUILTINS, 1, ALIKE)), "")
    if not name or not meant or meant == name:
        return ()
    edits = [replace_node(unit, node, meant) for unit, node in uses(source, name)]
    return fix(f"write {meant}", edits)


def qualified(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Put the namespace before a name of torch or of the standard library."""
    name = unknown(item)
    space = "torch" if name in TORCH else "std" if name in STANDARD else ""
    if not space:
        return ()
    edits = [replace_node(unit, node, f"{space}::{name}") for unit, node in uses(source, name)]
    return fix(f"write {space}::{name}", edits)


def of_tensors(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Call torch's function of tensors where C's of a float is asked for by torch's namespace: `torch::logf`."""
    found = _OF_TORCH.search(item.said)
    if found is None:
        return ()
    name = found[1]
    edits = [
        replace_node(unit, node, name[:-1])
        for unit in source.units
        for node in cuda_code(unit).names.get(name, ())
        if node.parent is not None and node.parent.type == "qualified_identifier"
    ]
    return fix(f"call torch's {name[:-1]}, of tensors", edits)


def check_macro(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Define a check that tutorials define and this text only uses."""
    name = unknown(item)
    if not CHECKS.fullmatch(name):
        return ()
    edits = []
    for unit in source.cuda:
        used = [node for owner, node in uses(source, name) if owner is unit]
        first = first_code(unit)
        if used and first is not None:
            calls = [read_call(node.parent) for node in used if node.parent is not None]
            given = [text(call.arguments[0]) for call in calls if call.arguments]
            edits.append(insert_before(unit, first, _definition(name, given)))
    return fix(f"define {name}", edits)


def _definition(name: str, given: list[str]) -> str:
    """Return the macro: of a call of CUDA, of a tensor, or of a condition."""
    called = given and all(re.match(r"\s*cu\w+\s*\(", words) for words in given)
    if called:
        return f'#define {name}(call) TORCH_CHECK((call) == 0, "a CUDA call failed")\n'
    if given and all(re.fullmatch(r"\s*\w+\s*", words) for words in given):
        test = "(x).is_contiguous()" if "CONTIG" in name.upper() else "(x).is_cuda()"
        return f'#define {name}(x) TORCH_CHECK({test}, #x " is of the wrong kind")\n'
    return f'#define {name}(condition, ...) TORCH_CHECK(condition, "a check failed")\n'


def missing_constant(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Define a constant of the launch that is defined nowhere."""
    name = unknown(item)
    value = next((value for part, value in SIZES if part in name), "")
    if not value or not name.isupper() or device_constant(source, item):
        return ()
    kind = "float" if value.endswith("f") else "int"
    edits = []
    for unit in source.cuda:
        first = first_code(unit)
        if first is not None and any(owner is unit for owner, _ in uses(source, name)):
            edits.append(insert_before(unit, first, f"constexpr {kind} {name} = {value};\n"))
    return fix(f"define {name} as {value}", edits)
