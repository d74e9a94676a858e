"""C's arithmetic types, CUDA's vectors and torch's halves: their letter, their bytes."""

import re

_SCALARS = (
    ("bool", "b", 1, "bool"),
    ("char", "i", 1, "char"),
    ("int8_t", "i", 1, "int8_t, signed char"),
    ("uint8_t", "u", 1, "uint8_t, unsigned char"),
    ("short", "i", 2, "short, int16_t"),
    ("uint16_t", "u", 2, "uint16_t, unsigned short"),
    ("int", "i", 4, "int, int32_t, signed, signed int"),
    ("unsigned", "u", 4, "unsigned, unsigned int, uint32_t, uint"),
    ("long", "l", 8, "long, long int, int64_t, std::int64_t, ptrdiff_t, std::ptrdiff_t"),
    ("ulong", "l", 8, "unsigned long, uint64_t, size_t, std::size_t"),
    ("ll", "l", 8, "long long, long long int"),
    ("ull", "l", 8, "unsigned long long, unsigned long long int"),
    ("half", "f", 2, "half, __half"),
    ("at::Half", "f", 2, "at::Half, c10::Half"),
    ("bf16", "f", 2, "__nv_bfloat16, nv_bfloat16"),
    ("at::BFloat16", "f", 2, "at::BFloat16, c10::BFloat16"),
    ("float", "f", 4, "float"),
    ("scalar_t", "f", 4, "scalar_t"),
    ("double", "d", 8, "double"),
)
"""The types that kernels use: our name, letter, bytes, and their names in C++; `scalar_t` counts as float."""
VECTORS = {
    name: size
    for size, names in {
        2: "char2, uchar2",
        4: "char4, uchar4, half2, __half2, __nv_bfloat162, short2",
        8: "short4, float2, int2, uint2",
        12: "float3",
        16: "float4, int4, uint4, double2, longlong2",
        32: "double4",
    }.items()
    for name in names.split(", ")
}
"""Bytes of vectors."""
_NAMED = {name: row[:3] for row in _SCALARS for name in row[3].split(", ")}
CANONICAL = {name: canonical for name, (canonical, _, _) in _NAMED.items()}
"""Names of one type are one name."""
SIZES = {name: size for name, (_, _, size) in _NAMED.items()}
SIZES |= VECTORS
"""Bytes by name."""


def type_letter(text: str) -> str:
    """Return the letter of an arithmetic type: i, u, l (64 bits), f, d, b, or ?."""
    return _NAMED[text][1] if text in _NAMED else "?"


RAISED = re.compile(r"expected scalar type (\w+) but found (\w+)", re.IGNORECASE)
TYPES = {
    "float": "Float", "double": "Double", "int64_t": "Long", "long": "Long", "int": "Int",
    "int32_t": "Int", "at::Half": "Half", "c10::Half": "Half", "torch::Half": "Half",
    "at::BFloat16": "BFloat16", "c10::BFloat16": "BFloat16", "bool": "Bool", "uint8_t": "Byte",
    "unsigned char": "Byte", "int16_t": "Short", "short": "Short", "int8_t": "Char",
}  # fmt: skip
"""The scalar type that `data_ptr<T>` requires."""
