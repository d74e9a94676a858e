"""The host's end: frames, log and limits of one guest in one loop that the guest can't block."""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections import deque

from grader.guest.protocol import CHUNK, Decoder, Frame, ProtocolError, encode
from grader.sandbox.form import Guest
from grader.sandbox.limits import Limits
from grader.sandbox.usage import Usage

WAITING = 20_000
"""Most unread frames of a guest, more than an honest one sends."""
TICK = 0.25
"""Seconds between two checks of memory and disk, where a check costs next to nothing."""
SELDOM = 20.0
"""Least pause until the next check, as a multiple of its duration: at most a twentieth of a core for each guest."""
LATEST = 1.0
"""Most seconds between two checks, however long they take."""


class GuestEndedError(Exception):
    """The guest closed the channel."""


class GuestLateError(Exception):
    """The guest did not answer in time."""


class GuestGreedyError(Exception):
    """The guest exceeded a limit, which the text names."""


class Log:
    """Head and tail of what a guest prints; the middle is dropped beyond `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._kept = 0
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Keep the part that fits."""
        room = self._half - len(self._head)
        self._head += data[:room]
        if rest := data[max(room, 0) :]:
            self._tail.append(rest)
            self._kept += len(rest)
        while self._kept > self._half:
            lost = len(self._tail.popleft())
            self._kept -= lost
            self._dropped += lost

    def text(self) -> str:
        """Return the log as text, with a line on the number of bytes left out."""
        gap = f"\n... {self._dropped} bytes cut ...\n".encode() if self._dropped else b""
        whole = bytes(self._head) + gap + b"".join(self._tail)
        return whole.decode("utf-8", "replace")


class HostChannel:
    """Sends and receives frames; drains the log and watches the limits meanwhile."""

    def __init__(self, guest: Guest, limits: Limits) -> None:
        self._guest = guest
        self._decoder = Decoder(limits.output)
        self._frames: deque[Frame] = deque()
        self._outgoing: deque[memoryview] = deque()
        self._sent = 0
        self._usage = Usage(guest, limits)
        self._next_look = 0.0
        self._ended = False
        self.log = Log(limits.log)
        self._selector = selectors.DefaultSelector()
        for descriptor in (guest.from_guest, guest.log):
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ)
        os.set_blocking(guest.to_guest, False)

    def close(self) -> None:
        """Read the rest of the log and close the descriptors."""
        while self._drain(self._guest.log):
            pass
        self._selector.close()

    def send(self, *frames: Frame) -> None:
        """Queue frames, which are sent while waiting for an answer."""
        for frame in frames:
            self._outgoing.append(memoryview(encode(frame, self._sent)))
            self._outgoing.append(memoryview(frame.body))
            self._sent += 1

    def flush(self, deadline: float) -> None:
        """Wait until all queued frames are sent."""
        while self._outgoing and not self._ended:
            self._turn(deadline)

    def linger(self, seconds: float) -> None:
        """Read the log until no writer is left, or the time is up."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(ProtocolError, GuestLateError, GuestGreedyError):
            while self._guest.log in self._selector.get_map():
                self._turn(deadline)

    def receive(self, deadline: float, *kinds: str) -> Frame:
        """Return the next frame, which must be of one of these kinds.

        `deadline` is a point of the monotonic clock. Raises ProtocolError for another or a
        malformed one, GuestEndedError, GuestLateError or GuestGreedyError.
        """
        while True:
            if self._frames:
                frame = self._frames.popleft()
                if frame.kind not in kinds:
                    raise ProtocolError(f"a {frame.kind} frame where {kinds[0]} was due")
                return frame
            if self._ended:
                raise GuestEndedError
            self._turn(deadline)

    @property
    def took(self) -> float:
        """Return the seconds from the last bytes that left to the end of the guest's last frame.

        Of a guest that was started as `timed`; other threads of this process do not count.
        """
        assert self._guest.took is not None
        return self._guest.took()

    def _turn(self, deadline: float) -> None:
        """Wait for one event, handle it, and check the limits from time to time."""
        now = time.monotonic()
        if now >= deadline:
            raise GuestLateError
        if now >= self._next_look:
            excess = self._usage.excess()
            took = time.monotonic() - now
            self._next_look = now + min(max(TICK, SELDOM * took), LATEST)
            if excess:
                raise GuestGreedyError(excess)
        self._watch_writer()
        for key, _ in self._selector.select(min(deadline - now, TICK)):
            if key.fd == self._guest.to_guest:
                self._write()
            elif key.fd == self._guest.from_guest:
                self._read_frames()
            elif not self._drain(key.fd):
                self._selector.unregister(key.fd)

    def _watch_writer(self) -> None:
        registered = self._guest.to_guest in self._selector.get_map()
        if self._outgoing and not registered:
            self._selector.register(self._guest.to_guest, selectors.EVENT_WRITE)
        elif registered and not self._outgoing:
            self._selector.unregister(self._guest.to_guest)

    def _write(self) -> None:
        while self._outgoing:
            view = self._outgoing.popleft()
            try:
                count = os.write(self._guest.to_guest, view[:CHUNK]) if view else 0
            except BlockingIOError:
                self._outgoing.appendleft(view)
                return
            except BrokenPipeError:
                # The guest reads no more; the other pipe shows whether it has ended.
                self._outgoing.clear()
                return
            if view[count:]:
                self._outgoing.appendleft(view[count:])

    def _read_frames(self) -> None:
        data = os.read(self._guest.from_guest, CHUNK)
        if data:
            self._frames.extend(self._decoder.feed(data))
            if len(self._frames) > WAITING:
                raise ProtocolError(f"more than {WAITING} frames that nobody asked for")
        else:
            self._ended = True
            self._selector.unregister(self._guest.from_guest)

    def _drain(self, descriptor: int) -> bool:
        """Read some of the log; False once nothing more can come (now, or at all)."""
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return False
        self.log.add(data)
        return bool(data)
