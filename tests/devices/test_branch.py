"""Where the simulator's guests come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.sandbox import fork_server

if TYPE_CHECKING:
    from grader.devices.sim.device import Simulator


def test_they_have_a_parent_with_the_simulator_loaded(device: Simulator) -> None:
    options = device.guest_options()
    libraries = (str(options["library"]), str(options["torch_library"]))
    branch = fork_server.shared_server(libraries)
    assert branch is not None
    assert branch is not fork_server.shared_server()
    assert branch is fork_server.shared_server(libraries)
