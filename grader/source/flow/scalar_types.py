"""C's arithmetic types, CUDA's vectors and torch's halves: their letter, their bytes, their rank."""

RANK = {"b": 0, "i": 1, "u": 2, "l": 3, "f": 4, "d": 5, "?": -1}
SIZES = {
    "bool": 1,
    "char": 1,
    "int8_t": 1,
    "uint8_t": 1,
    "unsigned char": 1,
    "short": 2,
    "half": 2,
    "__half": 2,
    "at::Half": 2,
    "c10::Half": 2,
    "__nv_bfloat16": 2,
    "at::BFloat16": 2,
    "c10::BFloat16": 2,
    "nv_bfloat16": 2,
    "int": 4,
    "unsigned": 4,
    "unsigned int": 4,
    "float": 4,
    "int32_t": 4,
    "uint32_t": 4,
    "uint": 4,
    "double": 8,
    "long": 8,
    "long long": 8,
    "int64_t": 8,
    "uint64_t": 8,
    "size_t": 8,
    "unsigned long long": 8,
    "unsigned long": 8,
    "half2": 4,
    "__half2": 4,
    "float2": 8,
    "int2": 8,
    "float3": 12,
    "float4": 16,
    "int4": 16,
    "double2": 16,
    "uint4": 16,
    "uint2": 8,
    "double4": 32,
    "scalar_t": 4,
    "ptrdiff_t": 8,
    "int16_t": 2,
    "uint16_t": 2,
}
"""Bytes of the types that kernels use; `scalar_t` counts as float."""
VECTORS = {
    "float2": 2,
    "float3": 3,
    "float4": 4,
    "int2": 2,
    "int4": 4,
    "double2": 2,
    "double4": 4,
    "half2": 2,
    "__half2": 2,
    "uint4": 4,
    "uint2": 2,
    "short4": 4,
    "char4": 4,
    "longlong2": 2,
    "__nv_bfloat162": 2,
}


def type_letter(text: str) -> str:
    """Return the letter of an arithmetic type: i, u, l (64 bits), f, d, b, or ?."""
    if text in {"int", "int32_t", "short", "char", "signed", "signed int", "int16_t", "int8_t"}:
        return "i"
    if text in {"unsigned", "unsigned int", "uint32_t", "uint", "uint8_t", "unsigned char"}:
        return "u"
    if text in {
        "size_t",
        "int64_t",
        "uint64_t",
        "long",
        "long long",
        "unsigned long long",
        "unsigned long",
        "ptrdiff_t",
        "long long int",
        "long int",
    }:
        return "l"
    if text == "double":
        return "d"
    if text == "bool":
        return "b"
    if text in {"float", "half", "__half", "scalar_t", "at::Half", "c10::Half", "__nv_bfloat16"}:
        return "f"
    return "?"


def promote(a: str, b: str) -> str:
    """Return the type of an arithmetic result."""
    return a if a == b or RANK.get(a, -1) >= RANK.get(b, -1) else b
