"""Compiling submissions: compiler drivers behind torch's own load_inline, and what their logs say.

Imports its parts on demand: the drivers, which run in the guest, are of this package and may only
need the standard library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.build.builder import (
        artifact,
        build,
        build_key,
        read_record,
        record_of_call,
        stock_way,
        write_record,
    )
    from grader.build.guest_environment import Environment, Mode, environment
    from grader.build.outcome import after_call
    from grader.build.prepare import Prepared
    from grader.build.toolchain import Missing, Toolchain, discover

__all__ = [
    "Environment",
    "Missing",
    "Mode",
    "Prepared",
    "Toolchain",
    "after_call",
    "artifact",
    "build",
    "build_key",
    "discover",
    "environment",
    "read_record",
    "record_of_call",
    "stock_way",
    "write_record",
]


def __getattr__(name: str) -> Any:
    import importlib

    homes = {
        "builder": (
            "artifact",
            "build",
            "build_key",
            "read_record",
            "record_of_call",
            "stock_way",
            "write_record",
        ),
        "outcome": ("after_call",),
        "guest_environment": ("Environment", "Mode", "environment"),
        "prepare": ("Prepared",),
        "toolchain": ("Missing", "Toolchain", "discover"),
    }
    for home, names in homes.items():
        if name in names:
            return getattr(importlib.import_module(f"grader.build.{home}"), name)
    raise AttributeError(name)
