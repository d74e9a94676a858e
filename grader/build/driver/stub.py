"""The stub of torch for nvcc: only those of torch's declarations that the source names."""

from __future__ import annotations

import re
from pathlib import Path

from grader.build.driver.comments import without_comments
from grader.build.driver.config import Config

_KNOWN_TYPES = frozenset(
    [
        "at",
        "c10",
        "std",
        "Tensor",
        "TensorBase",
        "Scalar",
        "ScalarType",
        "IntArrayRef",
        "OptionalIntArrayRef",
        "Device",
        "DeviceType",
        "Layout",
        "MemoryFormat",
        "TensorOptions",
        "TensorList",
        "ITensorListRef",
        "Generator",
        "optional",
        "nullopt",
        "tuple",
        "vector",
        "array",
        "ArrayRef",
        "string_view",
        "string",
        "Storage",
        "List",
        "Dimname",
        "DimnameList",
        "Stream",
        "const",
        "double",
        "float",
        "bool",
        "int64_t",
        "void",
        "T",
        "int",
    ]
)


def _usable(declaration: str) -> bool:
    """Whether every type that the declaration names is one that the stub has.

    The rest of a template's declaration (`T item() const`) isn't: the stub has its own.
    """
    if declaration.startswith("T "):
        return False
    types = re.findall(r"(?:at|c10|std)::(\w+)", declaration)
    return all(name in _KNOWN_TYPES for name in types) and "{" not in declaration.replace("{}", "")


def _declarations_named(declarations: dict[str, list[str]], words: set[str]) -> str:
    rows = [
        row
        for name in sorted(words & declarations.keys())
        for row in declarations[name]
        if _usable(row)
    ]
    return "\n".join(rows) + "\n"


_STUB_FUNCTIONS = frozenset({"equal", "tensor"})
"""Names that the stub declares itself: torch's own `tensor` takes a type that the stub lacks."""


def _but(declarations: dict[str, list[str]], names: frozenset[str]) -> dict[str, list[str]]:
    return {name: rows for name, rows in declarations.items() if name not in names}


_LEAN_NAMES = frozenset({
    "vector", "tuple", "get", "make_tuple", "tie", "optional", "nullopt", "make_optional", "pair",
    "make_pair", "move", "forward", "swap", "min", "max", "numeric_limits", "size_t", "ptrdiff_t",
    "nullptr_t", "initializer_list", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t",
    "uint32_t", "uint64_t", "is_same", "is_same_v", "enable_if", "enable_if_t", "conditional",
    "conditional_t", "decay_t", "declval", "true_type", "false_type", "integral_constant", "abs", "fabs",
    "ceil", "floor", "sqrt", "pow", "exp", "log", "log2", "round", "fmin", "fmax", "tanh", "sin", "cos",
    "erf", "isnan", "isinf", "isfinite", "memcpy", "memset", "string", "to_string", "exception", "runtime_error",
    "logic_error", "invalid_argument", "out_of_range",
})  # fmt: skip
"""Names of namespace std that don't need the larger headers."""
_NOT_LEAN = re.compile(
    r"using\s+namespace|::\s*(?:Half|BFloat16)\b|HALF|BFLOAT|AT_DISPATCH_(?:ALL|\w*AND)|omplex|ccessor"
    r"|string_view|stringstream|(?:io|[siof])stream\b|AT_WARN|TORCH_WARN"
)
"""Torch's Half and BFloat16; CUDA's own types of that size come with the header that the source includes."""


_WITHOUT = "-D_GLIBCXX_BITS_SPECFUN_H"
"""Guard of a header of <cmath>: Bessel's functions and the like, which a lean source can't name."""


def is_lean(text: str) -> bool:
    """Whether the source seems to need few of the headers that torch's headers include.

    This is only a guess: where compilation over the lean stub fails, the whole one decides. A source that compiles over
    it compiles over the whole one, since no further name can interfere where no namespace is opened.
    """
    code = without_comments(text)
    named = set(re.findall(r"\bstd\s*::\s*(\w+)", code))
    return named <= _LEAN_NAMES and not _NOT_LEAN.search(code)


_OWN_LIBRARY = re.compile(
    r"#\s*include\b(?!\s*(?:"  # any header but these few may bring along what is declared in its place
    r"<torch/(?:types|extension|all|torch)\.h>|[<\"](?:cuda|cuda_runtime|cuda_fp16|cuda_bf16|math|stdint|stdio|float|limits)\.h[>\"]"
    r"|<c(?:math|stdint|stdio|float|limits)>|<stdexcept>|<ATen/cuda/CUDAContext\.h>|<c10/cuda/CUDA(?:Stream|Exception)\.h>))"
    r"|\b(?:vector|vec|string|to_string|optional|nullopt|make_optional|decltype|declval|requires|concept)\b"
)
"""What keeps a lean source from declarations in place of <vector>, <optional> and <stdexcept>, a third of what nvcc reads for it."""


def is_bare(code: str, declared: str) -> bool:
    """Whether a lean source, without comments, and what it needs of torch seem to need no class of the C++ library whole; a guess as well."""
    return not _OWN_LIBRARY.search(code) and "std::vector" not in declared


def write(config: Config, text: str, folder: Path, *, lean: bool = False) -> list[str]:
    """Write the parts of the stub that this source needs; return nvcc's flags for it."""
    words = set(re.findall(r"[A-Za-z_]\w*", text))
    declared = config.read_json("headers.json")
    methods = _but(declared["methods"], _STUB_METHODS)
    functions = _but(declared["functions"], _STUB_FUNCTIONS)
    factories = _but(declared["factories"], _STUB_FUNCTIONS)
    parts = {"methods": methods, "functions": functions, "factories": factories}
    needed = {name: _declarations_named(rows, words) for name, rows in parts.items()}
    for name, rows in needed.items():
        (folder / f"kg_{name}.inc").write_text(rows)
    dispatch = '#include "kg_dispatch_all.inc"\n' if "AT_DISPATCH" in text else ""
    (folder / "kg_dispatch.inc").write_text(dispatch)
    rows = "".join(needed.values())
    takes_type = int(config.dispatch_takes_type)
    flags = [
        f"-DKG_DISPATCH_TAKES_TYPE={takes_type}",
        f"-DKG_LEAN={int(lean)}",
        f"-DKG_BARE={int(lean and is_bare(without_comments(text), rows))}",
        f"-DKG_TUPLE={int('std::tuple' in rows or bool(words & _OF_TUPLES))}",
        f"-DKG_LIMITS={int('numeric_limits' in text)}",
        f"-DKG_STRING={int(bool(words & _OF_STRINGS))}",
        f"-DKG_ACCESSOR={int('ccessor' in text)}",
        f"-DKG_COMPLEX={int('omplex' in text)}",
    ]
    flags += [_WITHOUT] if lean else []
    folders = [str(folder), f"{config.stubs}/device", f"{config.stubs}/face", config.path("stub")]
    return [*flags, *(f"-I{path}" for path in folders)]


_OF_TUPLES = frozenset({"tuple", "get", "make_tuple", "tie"})
_OF_STRINGS = frozenset(
    {"string", "to_string", "runtime_error", "logic_error", "invalid_argument", "out_of_range"}
)
_STUB_METHODS = frozenset(
    [
        "dim",
        "ndimension",
        "size",
        "stride",
        "sym_size",
        "sizes",
        "strides",
        "numel",
        "storage_offset",
        "nbytes",
        "itemsize",
        "element_size",
        "use_count",
        "defined",
        "has_storage",
        "is_alias_of",
        "is_contiguous",
        "is_cuda",
        "is_cpu",
        "is_sparse",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "is_quantized",
        "is_same",
        "is_leaf",
        "requires_grad",
        "device",
        "get_device",
        "scalar_type",
        "dtype",
        "layout",
        "options",
        "storage",
        "toString",
        "data_ptr",
        "data",
        "contiguous",
        "cpu",
        "cuda",
        "set_requires_grad",
        "requires_grad_",
        "grad",
        "mutable_grad",
        "backward",
        "variable_data",
        "tensor_data",
        "toType",
        "type",
    ]
)
