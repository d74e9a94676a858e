"""Torch's names of operations, by kind: the tables of `torch_names.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
RANKED, NUMERIC, MOVES = (frozenset(_TABLE[name]) for name in ("ranked", "numeric", "moves"))
SIZED = NUMERIC.union(_TABLE["sized"])
LAYOUT, VIEWS, RENAMINGS, RANDOM = (frozenset(_TABLE[name]) for name in ("layout", "views", "renamings", "random"))  # fmt: skip
FUNCTIONS = {name: f"torch.{name}" for name in _TABLE["own"]} | {name: f"torch.nn.functional.{name}" for name in _TABLE["functional"]}  # fmt: skip
ALIASES: dict[str, str] = _TABLE["aliases"]
