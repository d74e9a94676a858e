"""The scalar types of `data_ptr`, and torch's exception for a tensor of another type."""

import re

RAISED = re.compile(r"expected scalar type (\w+) but found (\w+)", re.IGNORECASE)
TYPES = {
    "float": "Float", "double": "Double", "int64_t": "Long", "long": "Long", "int": "Int",
    "int32_t": "Int", "at::Half": "Half", "c10::Half": "Half", "torch::Half": "Half",
    "at::BFloat16": "BFloat16", "c10::BFloat16": "BFloat16", "bool": "Bool", "uint8_t": "Byte",
    "unsigned char": "Byte", "int16_t": "Short", "short": "Short", "int8_t": "Char",
}  # fmt: skip
"""The scalar type that `data_ptr<T>` requires."""
