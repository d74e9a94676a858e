"""The folder of files prepared once for a machine, which guests can read."""

from __future__ import annotations

import os
from pathlib import Path

from grader.errors import GraderError
from grader.machine import cache_home
from grader.sandbox import reached_by, strongest

SHARED = Path("/var/cache/kernel-grader")
"""For root, whose home folder guests in the user-id form can't enter."""


def cache_folder() -> Path:
    """Return the folder that prepared files of all versions live in; guests must be able to read it."""
    named = os.environ.get("KERNEL_GRADER_CACHE")
    own = Path(named) if named else cache_home()
    try:
        if reached_by(strongest(), own):
            return own
        if not SHARED.is_dir():
            SHARED.mkdir(parents=True)
            SHARED.chmod(0o755)
    except (GraderError, OSError):
        return own  # where it can't be read, the error at a guest's start says what would help
    return SHARED if SHARED.stat().st_uid == os.geteuid() else own
