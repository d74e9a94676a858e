"""Results and artifacts by content address: written atomically, verified on reading, never unpickled."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from filelock import FileLock

from grader.errors import GraderError
from grader.machine import cache_home
from grader.records import digest

LIMIT_BYTES = 8 << 30
"""Size that the store is trimmed to, least recently used first."""
IDLE_SECONDS = 3600.0
"""Entries used within this time are not trimmed; also the interval between two trims."""
COUNTED = frozenset({".py", ".md", ".toml", ".cpp", ".hpp", ".h", ".cuh", ".cu", ".jinja"})
"""Suffixes of files that determine how a sample is graded: a rule's page has its severity."""


class Store:
    """A folder of files and folders, addressed by the content that they were made from."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or cache_home()
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise self._useless(str(error.strerror)) from error
        if not os.access(self.root, os.W_OK | os.X_OK):
            raise self._useless("it is another user's")
        if self.root.stat().st_mode & stat.S_IWOTH:
            # Its contents are trusted: reviews, evaluations, the secret itself.
            raise GraderError(
                f"anyone may write to {self.root}", f"chmod o-w {self.root}, or set another --cache"
            )
        # Reviews name samples and seeds, and a guest in the user-id form can enter folders on the way to its files.
        # Files prepared for guests stay readable.
        with contextlib.suppress(OSError):
            self.builds.mkdir(exist_ok=True)
            for folder in (self.builds, *self.root.glob("*-by-content")):
                folder.chmod(0o700)

    def _useless(self, why: str) -> GraderError:
        hint = "set --cache, or XDG_CACHE_HOME, to a folder that you may write to"
        return GraderError(f"can't write to {self.root}: {why}", hint)

    def read(self, kind: str, key: str) -> bytes | None:
        """Return the bytes stored under the key, or None if absent or damaged."""
        path = self._file(kind, key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        checksum, _, body = data.partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != checksum:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        touch(path)
        return body

    def has(self, kind: str, key: str) -> bool:
        """Whether something is stored under the key."""
        return self._file(kind, key).is_file()

    def write(self, kind: str, key: str, body: bytes) -> None:
        """Store the bytes under the key; a reader sees the old ones or the new ones, never a part.

        Raises GraderError where they can't be written.
        """
        path = self._file(kind, key)
        try:
            self._shelf(path)
            write_whole(path, hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        except OSError as error:
            raise GraderError(
                f"can't write to {self.root}: {error.strerror}", "free some space, or set --cache"
            ) from error

    def folder(self, kind: str, key: str) -> Path | None:
        """Return the stored folder, or None."""
        path = self._file(kind, key)
        if not path.is_dir():
            return None
        touch(path)
        return path

    @contextlib.contextmanager
    def new_folder(self, kind: str, key: str) -> Iterator[Path]:
        """Yield an empty folder that becomes the stored one when the block ends without an error."""
        target = self._file(kind, key)
        self._shelf(target)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=target.parent))
        try:
            yield draft
            with contextlib.suppress(OSError):  # another writer may have been first: same content
                draft.rename(target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    @contextlib.contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """Let one process at a time compute the entry of the key; a disk without room for the lock is ignored."""
        with contextlib.ExitStack() as held:
            with contextlib.suppress(OSError):
                (self.root / "locks").mkdir(exist_ok=True, mode=0o700)
                held.enter_context(FileLock(self.root / "locks" / key[:3]))
            yield

    def secret(self) -> bytes:
        """Return this installation's secret, which no guest can read; created at the first call."""
        path = self.root / "secret"
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(32))
        try:
            secret = path.read_bytes()
        except PermissionError as error:
            raise self._useless("what is in it is another user's") from error
        if (
            len(secret) < 32
        ):  # another process is between making and filling it, or the disk was full
            time.sleep(0.05)
            secret = path.read_bytes()
        return secret

    def seed(self, *parts: str) -> int:
        """Return a seed that depends on the parts and can't be predicted without the secret."""
        mac = hmac.new(self.secret(), digest(*parts).encode(), hashlib.sha256)
        return int.from_bytes(mac.digest()[:8], "little") >> 1

    def seal(self, text: str) -> str:
        """Return a signature that proves that this installation wrote the text."""
        return hmac.new(self.secret(), b"seal " + text.encode(), hashlib.sha256).hexdigest()[:40]

    def usage(self) -> dict[str, tuple[int, int]]:
        """Return count and bytes by kind."""
        found: dict[str, tuple[int, int]] = {}
        for kind, entry in self._entries():
            count, size = found.get(kind, (0, 0))
            found[kind] = (count + 1, size + _size(entry))
        return found

    def trim(self, limit: int = LIMIT_BYTES, *, idle: float = IDLE_SECONDS) -> int:
        """Delete the least recently used entries until the rest fits; return the bytes deleted.

        Entries used within the last `idle` seconds stay, since a grading may be reading them. Drafts of a killed
        process are treated like other entries.
        """
        entries = sorted((_used_at(entry), entry) for _, entry in self._entries())
        sizes = {entry: _size(entry) for _, entry in entries}
        excess = sum(sizes.values()) - limit
        gone = 0
        for used, entry in entries:
            if gone >= excess or used > time.time() - idle:
                break
            _delete(entry)
            gone += sizes[entry]
        return gone

    def trim_sometimes(self) -> None:
        """Trim, unless a process has done so within the last hour."""
        stamp = self.root / "trimmed"
        with contextlib.suppress(OSError):
            if not stamp.exists() or _used_at(stamp) < time.time() - IDLE_SECONDS:
                stamp.touch()
                self.trim()

    def clear(self, kind: str | None = None) -> None:
        """Delete all entries, or those of one kind."""
        for found, entry in list(self._entries()):
            if kind in (None, found):
                _delete(entry)

    @property
    def builds(self) -> Path:
        """Return the folder of builds, one folder each, named by content."""
        return self.root / "builds"

    @contextlib.contextmanager
    def new_build(self, key: str) -> Iterator[Path | None]:
        """Yield an empty folder that becomes the build's; None where the store has that build."""
        target = self.builds / key
        if target.is_dir():
            yield None
            return
        self.builds.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix="building-", dir=self.builds))
        try:
            yield draft
            with contextlib.suppress(OSError):  # another process may have been first
                draft.rename(target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _entries(self) -> Iterator[tuple[str, Path]]:
        for kind in sorted(self.root.glob("*-by-content")):
            for shelf in sorted(kind.iterdir()):
                if shelf.is_dir():
                    yield from (
                        (kind.name.removesuffix("-by-content"), path) for path in shelf.iterdir()
                    )
        if self.builds.is_dir():
            yield from (("builds", path) for path in sorted(self.builds.iterdir()))

    def _shelf(self, path: Path) -> None:
        """Create the folder of an entry, readable by this user only."""
        path.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.mkdir(exist_ok=True, mode=0o700)

    def _file(self, kind: str, key: str) -> Path:
        if not (key.isalnum() and kind.isalpha()):
            msg = f"not a content address: {kind}/{key}"
            raise ValueError(msg)
        return self.root / f"{kind}-by-content" / key[:2] / key


def write_whole(path: Path, data: bytes) -> None:
    """Replace the file's content in one step."""
    write_parts(path, (data,))


def write_parts(path: Path, parts: Iterable[bytes]) -> None:
    """Replace the file's content in one step, with one part in memory at a time."""
    descriptor, name = tempfile.mkstemp(prefix=".draft-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
        os.chmod(name, 0o644)  # noqa: PTH101 - mkstemp's 0600 would hide reviews from other users
        os.replace(name, path)  # noqa: PTH105 - the draft's name is a string
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108 - as above
        raise


@cache
def grader_version(*rooms: str) -> str:
    """Return a hash of the package's own files: any change of the code makes cached results stale.

    With `rooms`, the hash is of these rooms' files alone.
    """
    root = Path(__file__).parent
    hasher = hashlib.sha256()
    folders = [root / room for room in rooms] or [root]
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        if path.suffix in COUNTED:
            hasher.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()


def touch(path: Path) -> None:
    """Record that an entry was used."""
    with contextlib.suppress(OSError):
        os.utime(path)


def _used_at(entry: Path) -> float:
    """Return the time of an entry's last use; 0 where another process has just deleted it."""
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def _size(entry: Path) -> int:
    if entry.is_file():
        return entry.stat().st_size
    return sum(path.lstat().st_size for path in entry.rglob("*") if path.is_file())


def _delete(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        entry.unlink(missing_ok=True)
