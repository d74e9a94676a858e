"""Conversion between files of an artifact and frames, on the host."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from grader.guest.kinds import is_file_name
from grader.guest.protocol import Frame, ProtocolError


def read_folder(folder: Path) -> list[Frame]:
    """Return a frame for each regular file below a folder of our own store."""
    frames = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        info = path.lstat()
        if stat.S_ISREG(info.st_mode) and is_file_name(name):
            header = {
                "name": name,
                "executable": bool(info.st_mode & stat.S_IXUSR),
                "modified": info.st_mtime_ns,
            }
            frames.append(Frame("file", header, path.read_bytes()))
    return frames


def write_file(folder: Path, frame: Frame) -> None:
    """Write one new file below `folder`; its name has been checked, and no link is followed.

    Raises ProtocolError where the same name comes twice, or once as a file and once as a folder;
    OSError where the disk fails.
    """
    try:
        _create(folder / frame.header["name"], frame)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise ProtocolError("a file that came before") from None


def _create(path: Path, frame: Frame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o755 if frame.header["executable"] else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        file.write(frame.body)
    os.utime(path, ns=(frame.header["modified"],) * 2)
