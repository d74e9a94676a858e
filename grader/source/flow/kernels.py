"""Walks one block of a kernel launch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grader.source.flow.expressions import Machine
from grader.source.flow.memory import Region
from grader.source.flow.program import Function, Program
from grader.source.flow.scalar_types import SIZES, type_letter
from grader.source.flow.state import Box, Frame
from grader.source.flow.trace import Launch, StopWalkError, Walk
from grader.source.flow.values import Pointer, Value

MOST_THREADS = 1024


def walk_block(
    program: Program,
    kernel: Function,
    launch: Launch,
    block: tuple[int, int, int] = (0, 0, 0),
) -> Walk:
    """Walk one block of a launch through its kernel; never raises.

    `launch.block` must be known and have at most 1024 threads; else the walk is stopped at once.
    """
    result = Walk(kernel, launch, block)
    threads = launch.threads
    if threads is None or not 0 < threads <= MOST_THREADS:
        result.stopped = "the number of threads isn't known"
        return result
    machine = Machine(program, result, threads)
    machine.block_shape = tuple(n or 1 for n in launch.block)  # type: ignore[assignment]
    machine.grid_shape, machine.block_index = launch.grid, block

    machine.frames.append(_frame(machine, kernel, launch))
    try:
        with np.errstate(all="ignore"):
            machine.bind_template(machine.frames[-1], kernel, launch.template)
            machine.run(kernel.body)
    except StopWalkError as reason:
        result.stopped = str(reason) or "not understood"
    except RecursionError:
        result.stopped = "nested too deeply"
    return result


def _frame(machine: Machine, kernel: Function, launch: Launch) -> Frame:
    scope: dict[str, Box] = {}
    copies: dict[int, Region] = {}
    for index, parameter in enumerate(kernel.parameters):
        given = (
            launch.arguments[index] if index < len(launch.arguments) else Value(None, varies=False)
        )
        if parameter.pointer:
            value = _pointer(given, parameter.name, parameter.type, copies, machine)
            scope[parameter.name] = Box(value)
        else:
            letter = type_letter(parameter.type)
            number = (
                given.number
                if given.scalar is not None or isinstance(given.number, float)
                else None
            )
            scope[parameter.name] = Box(Value(number, letter, varies=False), letter)
    return Frame(kernel, machine.mask, scope)


def _pointer(
    given: Value, name: str, kind: str, copies: dict[int, Region], machine: Machine
) -> Value:
    """Return a kernel's pointer parameter; two that hold one tensor share its region."""
    old = given.pointer.region if given.pointer is not None else None
    region = copies.get(id(old)) if old is not None else None
    if region is None:
        tensor = old.tensor if old is not None else None
        known = type_letter(kind) != "?" or kind in SIZES
        region = Region(name, "global", kind if known or old is None else old.type, tensor=tensor)
        machine.walk.regions.append(region)
        if old is not None:
            copies[id(old)] = region
    offset = given.pointer.offset if given.pointer is not None else 0
    scale = given.pointer.scale if given.pointer is not None else 1
    return Value(None, varies=False, pointer=Pointer(region, offset, scale=scale, type=kind))


def assume_block(launch: Launch, threads: int = 256) -> Launch:
    """Return the launch with a block size put in where it isn't known."""
    x, y, z = launch.block
    return (
        launch
        if launch.threads is not None
        else replace(launch, block=(x or threads, y or 1, z or 1))
    )
