"""Scratch folders and user ids that no two guests have at once, on this machine."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import stat
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from grader.errors import GraderError

GUEST_IDS = range(60_800, 61_100)
"""User ids for guests of root, outside the ranges of distributions and systemd."""


def base() -> Path:
    """Return the folder of locks and scratch folders; raises GraderError where it isn't ours."""
    path = Path(tempfile.gettempdir()) / f"kernel-grader-{os.geteuid()}"
    path.mkdir(mode=0o711, exist_ok=True)
    info = path.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
        raise GraderError(f"{path} belongs to somebody else", "remove it or set TMPDIR")
    path.chmod(0o711)
    return path


def take_identity() -> tuple[int, Callable[[], None]]:
    """Return a user id that no other guest has, and a callback to release it."""
    for uid in GUEST_IDS:
        if descriptor := _lock(base() / f"uid-{uid}.lock", wait=False):
            return uid, functools.partial(os.close, descriptor)
    raise GraderError("all user ids for guests are taken", "run fewer at a time")


def take_folder(slot: str, identity: int | None) -> tuple[Path, Callable[[], None]]:
    """Return an empty folder of this name, and a callback to empty and release it.

    Waits while another guest has it: the path must be the same for the same slot.
    """
    folder = base() / f"scratch-{slot}"
    descriptor = _lock(base() / f"scratch-{slot}.lock", wait=True)
    remove(folder)
    folder.mkdir(mode=0o700)
    if identity is not None:
        os.chown(folder, identity, identity)

    def release() -> None:
        remove(folder)
        (base() / f"scratch-{slot}.lock").unlink(missing_ok=True)
        os.close(descriptor)

    return folder, release


def _lock(path: Path, *, wait: bool) -> int:
    """Return a locked descriptor, or 0 where it is taken and the caller doesn't wait."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(descriptor)
            return 0
        if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
        # Its last owner removed the file while we waited.
        os.close(descriptor)


def remove(folder: Path) -> None:
    """Remove a guest's folder: any depth, any mode, no link followed."""
    if not folder.exists():
        return
    if _quietly("rm", "-rf", "--one-file-system", "--", str(folder)) != 0:
        _quietly("chmod", "-R", "u+rwX", "--", str(folder))
        _quietly("rm", "-rf", "--one-file-system", "--", str(folder))


def sweep(identity: int) -> None:
    """Remove a user id's files from the world-writable folders."""
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108 - looked through, not used
        if not Path(folder).is_dir():
            continue
        for entry in os.scandir(folder):
            # Other users' files come and go meanwhile.
            with contextlib.suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_uid == identity:
                    remove_entry(Path(entry.path))


def remove_entry(path: Path) -> None:
    """Remove a file, link or folder."""
    _quietly("rm", "-rf", "--one-file-system", "--", str(path))


def _quietly(*command: str) -> int:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False
    ).returncode
