"""Opens files to guests that are other users (where the host is root), whatever the umask."""

from __future__ import annotations

import stat
from pathlib import Path


def open_to_guests(*paths: Path) -> None:
    """Make these files, and folders with their contents, readable for everybody; no link is followed."""
    for path in paths:
        if path.is_symlink():
            continue
        let_read(path)
        if path.is_dir():
            open_to_guests(*path.iterdir())


def let_read(path: Path) -> None:
    """Make one file readable, or one folder listable and searchable, for everybody."""
    mode = path.stat().st_mode
    runs = stat.S_ISDIR(mode) or mode & stat.S_IXUSR
    if (wanted := stat.S_IMODE(mode) | (0o555 if runs else 0o444)) != stat.S_IMODE(mode):
        path.chmod(wanted)
