"""Timing of a guest's answers in a relay process, where no other thread delays it."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from pathlib import Path

from grader.errors import GraderError
from grader.guest.protocol import PREFIX
from grader.sandbox.form import Guest
from grader.sandbox.relay import BOARD

RELAY = Path(__file__).with_name("relay.py")


def attach(guest: Guest) -> None:
    """Put a relay between this process and a guest; it ends with the guest.

    Raises:
        GraderError: it could not be started; the guest has been ended.

    """
    board = os.memfd_create("stopwatch")
    os.truncate(board, BOARD.size)
    from_host, to_relay = os.pipe2(os.O_CLOEXEC)
    from_relay, to_host = os.pipe2(os.O_CLOEXEC)
    theirs = (board, from_host, guest.to_guest, guest.from_guest, to_host)
    command = [sys.executable, "-I", "-S", str(RELAY), PREFIX.format, *map(str, theirs)]
    noted = mmap.mmap(board, BOARD.size, prot=mmap.PROT_READ)
    guest.to_guest, guest.from_guest = to_relay, from_relay
    try:
        # An interrupt at the terminal is for the host, which then ends the guest.
        relay = subprocess.Popen(command, pass_fds=theirs, start_new_session=True)
    except OSError as error:
        guest.kill()
        guest.close()
        raise GraderError(f"the clock of a guest could not be started: {error}") from error
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    guest.took = lambda: float(BOARD.unpack_from(noted)[0])
    guest.ends.append(lambda: _end(relay))


def _end(relay: subprocess.Popen[bytes]) -> None:
    relay.kill()
    relay.wait()
