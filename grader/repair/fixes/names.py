"""The names and helpers of `names.toml`: CUDA's, torch's and Triton's, and common confusions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def names() -> Mapping[str, Any]:
    """Return all tables of names."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
