"""Follows one thread of a kernel launch."""

from dataclasses import replace

from grader.source.declarators import Parameter
from grader.source.flow.expressions import Machine
from grader.source.flow.memory import Region
from grader.source.flow.state import Box, Frame
from grader.source.flow.trace import Launch, StopWalkError, Walk
from grader.source.flow.values import Pointer, Value
from grader.source.scalar_types import SIZES, type_letter
from grader.source.units import Unit

MOST_THREADS = 1024


class KernelThread(Machine):
    """A thread of a block, from a kernel's parameters to its end."""

    def __init__(self, unit: Unit, walk: Walk) -> None:
        super().__init__(unit, walk)
        x, y, z = (size or 1 for size in walk.launch.block)
        self.block_shape, self.grid_shape = (x, y, z), walk.launch.grid
        self.copies: dict[int, Region] = {}

    def follow(self) -> None:
        """Run the kernel; never raises."""
        kernel, launch = self.walk.kernel, self.walk.launch
        frame = Frame(kernel, {})
        self.frames.append(frame)
        for index, parameter in enumerate(kernel.parameters):
            given = launch.arguments[index] if index < len(launch.arguments) else Value()
            letter = "?" if parameter.is_pointer else type_letter(parameter.kind)
            value = self._pointer(given, parameter) if parameter.is_pointer else given
            plain = Value(value.number, letter, value.pointer if parameter.is_pointer else None)
            frame.names[parameter.name] = Box(plain, letter)
        try:
            self.bind_template(frame, kernel, launch.template)
            self.run(kernel.code)
        except StopWalkError as reason:
            self.walk.stopped = str(reason) or "not understood"
        except RecursionError:
            self.walk.stopped = "nested too deeply"

    def _pointer(self, given: Value, parameter: Parameter) -> Value:
        """Return a kernel's pointer parameter; two that hold one tensor share its region."""
        at = given.pointer or Pointer(Region("", "global"))
        old, kind = at.region, parameter.kind
        region = self.copies.get(id(old))
        if region is None:
            known = type_letter(kind) != "?" or kind in SIZES or given.pointer is None
            type_ = kind if known else old.type
            region = Region(parameter.name, "global", type_, tensor=old.tensor)
            self.walk.regions.append(region)
            if given.pointer is not None:
                self.copies[id(old)] = region
        return Value(pointer=Pointer(region, at.offset, at.scale, type=kind))


def walk_thread(
    unit: Unit, launch: Launch, block: tuple[int, int, int] = (0, 0, 0), thread: int = 0
) -> Walk:
    """Follow one thread of a launch through its kernel; never raises.

    `launch.block` must be known and have at most 1024 threads; else the walk is stopped at once.
    """
    kernel = unit.named(launch.kernel)
    if kernel is None:
        raise KeyError(launch.kernel)
    walk, threads = Walk(kernel, launch, block, thread), launch.threads
    if threads is None or not 0 < threads <= MOST_THREADS:
        walk.stopped = "the number of threads isn't known"
    else:
        KernelThread(unit, walk).follow()
    return walk


def assume_block(launch: Launch, threads: int = 256) -> Launch:
    """Return the launch with a block size put in where it isn't known."""
    x, y, z = launch.block
    known = launch.threads is not None
    return launch if known else replace(launch, block=(x or threads, y or 1, z or 1))
