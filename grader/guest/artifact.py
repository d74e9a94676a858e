"""Transfer of built extensions to and from the scratch folder, as frames.

The host never walks a folder that generated code could write: files are sent as frames with names from a closed set of
characters, and the host writes new files.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from grader.guest.kinds import MAX_FILES, is_file_name
from grader.guest.protocol import Channel


def folder(scratch: Path) -> Path:
    """Return torch's build folder for extensions."""
    return scratch / "extensions"


def receive(channel: Channel, scratch: Path, count: int) -> None:
    """Write `count` files with their modification times, which ninja compares."""
    base = folder(scratch)
    base.mkdir(exist_ok=True)
    for _ in range(count):
        frame = channel.receive("file")
        path = base / frame.header["name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(frame.body)
        path.chmod(0o755 if frame.header["executable"] else 0o644)
        os.utime(path, ns=(frame.header["modified"],) * 2)


def set_aside(scratch: Path) -> None:
    """Move the notes on earlier compiler failures to where the drivers look, so that they aren't sent again."""
    handed_over = folder(scratch) / "refused"
    if handed_over.is_dir():
        handed_over.rename(scratch / "refused")


def send(channel: Channel, scratch: Path, limit: int) -> None:
    """Send the regular files, at most `limit` bytes, and the names of those left out."""
    found, skipped = _regular_files(folder(scratch))
    total = 0
    chosen: list[tuple[str, Path]] = []
    for name, path, size in sorted(found):
        total += size
        (chosen if total <= limit and len(chosen) < MAX_FILES else skipped).append((name, path))
    channel.send("files", count=len(chosen), skipped=[str(name)[:400] for name, _ in skipped[:64]])
    for name, path in chosen:
        info = path.lstat()
        channel.send(
            "file",
            path.read_bytes(),
            name=name,
            executable=bool(info.st_mode & stat.S_IXUSR),
            modified=info.st_mtime_ns,
        )


def _regular_files(
    base: Path,
) -> tuple[list[tuple[str, Path, int]], list[tuple[str, Path]]]:
    """Return the regular files below `base` with a plain name, and all other entries but folders."""
    found: list[tuple[str, Path, int]] = []
    skipped: list[tuple[str, Path]] = []
    for root, _, names in os.walk(base):
        for name in names:
            path = Path(root) / name
            relative = str(path.relative_to(base))
            info = path.lstat()
            if stat.S_ISREG(info.st_mode) and is_file_name(relative):
                found.append((relative, path, info.st_size))
            else:
                skipped.append((relative.encode("utf-8", "replace").decode(), path))
    return found, skipped
