"""The base of every record: frozen, strict, readable back from JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, StringConstraints

JsonValue = Any
"""A value that JSON can hold: None, bool, int, float, str, list or dict of these."""


Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9+_-]{0,30}$")]
"""A name from a registry in a room above: a device, an input format, a language."""


class Record(BaseModel):
    """Plain frozen data between two stages; rejects unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed; values cached from the old fields are dropped."""
        copy = super().model_copy(update=update, deep=deep)
        for name in [name for name in copy.__dict__ if name not in type(self).model_fields]:
            if isinstance(getattr(type(self), name, None), cached_property):
                del copy.__dict__[name]
        return copy


def digest(*parts: str | bytes) -> str:
    """Return the hex SHA-256 of the parts, each length-prefixed so that no two lists collide."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        hasher.update(len(data).to_bytes(8, "little"))
        hasher.update(data)
    return hasher.hexdigest()
