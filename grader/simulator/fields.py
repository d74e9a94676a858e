"""Checked values of a report from a process with generated code: of the expected kind, or empty."""

from __future__ import annotations

import re

from grader.records import JsonValue

_LARGEST = 2**63
_PLAIN = re.compile(r"[^\x20-\x7e]+")


def as_mapping(value: JsonValue) -> dict[str, JsonValue]:
    """Return an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def entries(value: JsonValue, most: int) -> list[dict[str, JsonValue]]:
    """Return at most this many objects of a list."""
    given = value[:most] if isinstance(value, list) else []
    return [entry for entry in given if isinstance(entry, dict)]


def text(value: JsonValue, most: int = 400) -> str:
    """Return printable ASCII of at most this length."""
    return _PLAIN.sub(" ", value[:most]) if isinstance(value, str) else ""


def count(value: JsonValue) -> int:
    """Return a whole number from 0 to 2**63 - 1, or 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < _LARGEST else 0  # NaN is in no range


def counts(value: JsonValue, most: int) -> dict[str, int]:
    """Return at most this many whole numbers by name."""
    return {text(key): count(number) for key, number in list(as_mapping(value).items())[:most]}


def scalar(value: JsonValue) -> JsonValue:
    """Return a number, a text, or a short list of these, or None."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return [scalar(item) for item in value[:20] if not isinstance(item, (list, dict))]
    if isinstance(value, (bool, int, float)) and abs(value) < _LARGEST:
        return value
    return None


def triple(value: JsonValue) -> tuple[int, int, int]:
    """Return three whole numbers, 0 where there is none."""
    numbers = [count(item) for item in value[:3]] if isinstance(value, list) else []
    x, y, z = [*numbers, 0, 0, 0][:3]
    return x, y, z


def is_pair(value: JsonValue) -> bool:
    """Whether it is a list of two."""
    return isinstance(value, list) and len(value) == 2
