"""Rendering of templates of CUDA text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment(folder: Path = TEMPLATES) -> Environment:
    """Return the template environment of a folder."""
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - program text and prompts, not HTML
    )


def render(template: str, function: str, values: Mapping[str, Any]) -> str:
    """Return the CUDA text of a template."""
    return environment().get_template(template).render(function=function, **values)
