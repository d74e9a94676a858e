"""C's arithmetic types, CUDA's vectors and torch's halves: their letter, their bytes, their rank."""

RANK = {"b": 0, "i": 1, "u": 2, "l": 3, "f": 4, "d": 5, "?": -1}
_SCALARS = {
    ("b", 1): "bool",
    ("i", 1): "char, int8_t",
    ("i", 2): "short, int16_t",
    ("i", 4): "int, int32_t, signed, signed int",
    ("u", 1): "unsigned char, uint8_t",
    ("u", 2): "uint16_t",
    ("u", 4): "unsigned, unsigned int, uint32_t, uint",
    ("l", 8): "long, long int, long long, long long int, int64_t, uint64_t, size_t, unsigned long, "
    "unsigned long long, ptrdiff_t",
    (
        "f",
        2,
    ): "half, __half, at::Half, c10::Half, __nv_bfloat16, nv_bfloat16, at::BFloat16, c10::BFloat16",
    ("f", 4): "float, scalar_t",
    ("d", 8): "double",
}
"""Letter and bytes of the types that kernels use, by their names; `scalar_t` counts as float."""
VECTORS = {
    name: (lanes, lanes * size)
    for (lanes, size), names in {
        (2, 1): "char2, uchar2",
        (4, 1): "char4, uchar4",
        (2, 2): "half2, __half2, __nv_bfloat162, short2",
        (4, 2): "short4",
        (2, 4): "float2, int2, uint2",
        (3, 4): "float3",
        (4, 4): "float4, int4, uint4",
        (2, 8): "double2, longlong2",
        (4, 8): "double4",
    }.items()
    for name in names.split(", ")
}
"""Elements and bytes of vectors."""
_NAMED = {name: kind for kind, names in _SCALARS.items() for name in names.split(", ")}
SIZES = {name: size for name, (_, size) in _NAMED.items()}
SIZES |= {name: size for name, (_, size) in VECTORS.items()}
"""Bytes by name."""


def type_letter(text: str) -> str:
    """Return the letter of an arithmetic type: i, u, l (64 bits), f, d, b, or ?."""
    return _NAMED[text][0] if text in _NAMED else "?"


def promote(a: str, b: str) -> str:
    """Return the type of an arithmetic result."""
    return a if a == b or RANK.get(a, -1) >= RANK.get(b, -1) else b
