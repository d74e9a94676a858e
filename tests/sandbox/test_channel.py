"""The host's end of a channel whose other end is hostile."""

from __future__ import annotations

import contextlib
import os
import threading
import time

import pytest

from grader.guest.protocol import Frame, ProtocolError, encode
from grader.sandbox.channel import WAITING, HostChannel
from grader.sandbox.form import Guest
from grader.sandbox.limits import Limits


def test_a_flood_of_frames_while_the_host_sends_is_cut_off() -> None:
    incoming, theirs = os.pipe()
    full, outgoing = os.pipe()
    log, log_in = os.pipe()
    channel = HostChannel(Guest(outgoing, incoming, log, "/", {}), Limits())

    def flood() -> None:
        stages = (encode(Frame("stage", {"stage": "forward"}), i) for i in range(2 * WAITING))
        with contextlib.suppress(BrokenPipeError), os.fdopen(theirs, "wb") as out:
            out.writelines(stages)

    flooding = threading.Thread(target=flood)
    flooding.start()
    try:
        # Nobody reads it: the host goes on sending for ever.
        channel.send(
            Frame("workload", {"name": "w", "tensors": 0, "rows": None, "at": 0}, bytes(1 << 20))
        )
        with pytest.raises(ProtocolError, match="nobody asked for"):
            channel.flush(time.monotonic() + 300)
    finally:
        os.close(incoming)
        flooding.join()
        channel.close()
        for descriptor in (full, outgoing, log, log_in):
            os.close(descriptor)
