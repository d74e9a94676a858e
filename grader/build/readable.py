"""What an umask keeps to its user, opened to guests: other users, where the host is root."""

from __future__ import annotations

import stat
from pathlib import Path


def open_to_guests(*paths: Path) -> None:
    """Let everybody read these files, and folders with all that is below them; no link is followed."""
    for path in paths:
        if path.is_symlink():
            continue
        let_read(path)
        if path.is_dir():
            open_to_guests(*path.iterdir())


def let_read(path: Path) -> None:
    """Let everybody read one file, or list and pass one folder."""
    mode = path.stat().st_mode
    runs = stat.S_ISDIR(mode) or mode & stat.S_IXUSR
    if (wanted := stat.S_IMODE(mode) | (0o555 if runs else 0o444)) != stat.S_IMODE(mode):
        path.chmod(wanted)
