"""One job inside the guest: import, construct, forward, each answered with frames."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils import cpp_extension
from torch.utils._python_dispatch import TorchDispatchMode

from grader.guest import (
    artifact,
    conceal,
    describe,
    dry_run,
    plain_run,
    precision,
    program,
    tensors,
    timing,
    weights,
)
from grader.guest.altered import hold_altered
from grader.guest.backward import Caller
from grader.guest.drawn import DrawnInSingle
from grader.guest.exact import EPSILON
from grader.guest.gradients import gradients
from grader.guest.kept import Kept
from grader.guest.operator_log import OperatorLog
from grader.guest.placement import fill_new_memory_with_nan, place, preload
from grader.guest.program import Failure
from grader.guest.protocol import Channel, Frame
from grader.guest.refilled_inputs import RefilledInputs

# Bound now, since a submission may rebind the name.
_dumps = json.dumps


class Session:
    """Serves one job; every method that runs generated code reports its exceptions."""

    def __init__(
        self,
        channel: Channel,
        job: Frame,
        *,
        scratch: Path,
        init: tuple[Any, ...],
        given: Mapping[str, torch.Tensor],
        initial: Mapping[str, torch.Tensor],
        options: Mapping[str, Any],
        preloads: Sequence[str],
    ) -> None:
        self._channel = channel
        self._job = job.header
        self._code = bytes(job.body).decode("utf-8", "surrogatepass")
        self._scratch = scratch
        self._init = init
        self._given = given
        self._initial = initial
        self._options = options
        self._counter: type[TorchDispatchMode] | None = None
        self._plain = bool(options.get("plain"))
        preload(preloads)
        self._configure()
        self._place = place(self._job["device"], options)
        self._kept = Kept()
        self._refilled = RefilledInputs(self._place) if options.get("in_place") else None
        self._kernels = tensors.kernels()

    def _configure(self) -> None:
        torch.set_num_threads(self._job["threads"])
        # The error of a refused call prints its tensors: by default thousands of small operations for each, which take
        # minutes on the simulated device.
        torch.set_printoptions(threshold=8, edgeitems=1)
        if home := os.environ.get("CUDA_HOME"):
            # Torch reads it at import, which the fork server has done already.
            cpp_extension.CUDA_HOME = home
        # A submission may turn TF32 on itself, which is then its own choice.
        precision.full()
        if self._job["device"] == "cpu" and self._job["role"] == "submission" and not self._plain:
            fill_new_memory_with_nan()
        if self._options.get("dry_run"):
            dry_run.prepare()
        if self._options.get("count"):
            # Imported before this package is concealed; it takes half a second, and only one guest needs it.
            from grader.guest.operations import OperationCount

            self._counter = OperationCount

    def run(self) -> None:
        """Import, construct, run the workloads as they come, send the built files."""
        stage = "import"
        try:
            self._channel.send("stage", stage=stage)
            if not self._plain:
                conceal.conceal()
            if self._job["device"] != "cuda":
                conceal.shut_memory_file()
            module = program.execute(self._code, self._scratch)
            if self._job["describe"]:
                self._describe(module)
                return
            stage = "construct"
            self._channel.send("stage", stage=stage)
            model, caller, loaded = self._construct(module)
        except BaseException as error:  # noqa: BLE001 - SystemExit and the like are outcomes too
            self._send_raised(stage, program.failure(error, self._scratch))
            return
        self._ready(model, loaded)
        while (frame := self._channel.receive("workload", "keep", "time", "end")).kind != "end":
            if frame.kind == "keep":
                artifact.send(self._channel, self._scratch, frame.header["limit"])
            elif frame.kind == "time":
                widen = self._widen_tensor if self._job["double"] else None
                kind = plain_run.Calls if self._plain else timing.Batches
                kind(self._channel, caller, self._scratch, widen, self._counter).serve(frame)
            elif self._options.get("dry_run"):
                self._dry_run(caller, frame)
            else:
                self._workload(model, caller, frame)
        self._channel.send("changed", workloads=self._kept.changed_workloads(self._place.to_host))
        self._channel.send("done")

    def _describe(self, module: ModuleType) -> None:
        text = json.dumps(describe.describe(module, self._options))
        self._channel.send("described", text.encode())

    def _construct(self, module: ModuleType) -> tuple[Any, Caller, str]:
        """Return the model (None for an import only), its caller, and how weights were matched."""
        if not self._job["construct"]:
            return None, Caller(None), ""
        entry = getattr(module, self._job["entry"], None)
        if entry is None:
            raise NameError(f"the code defines no {self._job['entry']}")
        torch.manual_seed(self._job["seed"])
        model = entry(*(self._place_tensor(self._widen_tensor(value)) for value in self._init))
        if self._options.get("precision") and isinstance(model, torch.nn.Module):
            model = model.to(tensors.DTYPES[self._options["precision"]])
        if self._job["double"] and isinstance(model, torch.nn.Module):
            model = model.double()
        origins, loaded = weights.load(model, self._given, self._initial)
        model = self._place.module(model)
        call = torch.compile(model) if self._options.get("compile") else model
        exact = self._job["role"] == "reference"
        return model, Caller(model, origins, call=call, exact=exact), loaded

    def _widen_tensor(self, value: Any) -> Any:
        """Return a tensor in float64 where the job uses it; anything else unchanged."""
        wide = self._job["double"] and isinstance(value, torch.Tensor)
        # 8-bit floats stay: operators that take them also take scales, and cast them.
        return (
            value.double() if wide and value.is_floating_point() and value.itemsize > 1 else value
        )

    def _place_tensor(self, value: Any) -> Any:
        """Return a tensor on the submission's device; anything else unchanged."""
        return self._place.to_device(value) if isinstance(value, torch.Tensor) else value

    def _ready(self, model: Any, loaded: str) -> None:
        state = weights.tensors_of(model) if self._job["want_state"] else {}
        self._channel.send("ready", loaded=loaded[:500], state=list(state))
        for tensor in state.values():
            tensors.send_tensor(self._channel, self._place.to_host(tensor))

    def _send_raised(self, stage: str, failure: Failure) -> None:
        self._channel.send(
            "raised",
            stage=stage,
            reason=failure.reason,
            traceback=failure.traceback,
            line=failure.line,
            out_of_memory=failure.out_of_memory,
        )

    def _workload(self, model: Any, caller: Caller, frame: Frame) -> None:
        frames = [self._channel.receive("tensor") for _ in range(frame.header["tensors"])]
        values = json.loads(bytes(frame.body))
        originals = [tensors.from_frame(tensor) for tensor in frames]
        operators: Counter[str] = Counter()
        try:
            plain = [
                self._widen_tensor(originals[v]) if kind == "tensor" else v for kind, v in values
            ]
            given_plain = [value for value in plain if isinstance(value, torch.Tensor)]
            refilled = iter(self._refilled.take(given_plain) if self._refilled else ())
            args = [
                self._place.enlarge(originals[v[0]], v[1], v[2])
                if kind == "part"
                else next(refilled)
                if self._refilled and isinstance(v, torch.Tensor)
                else self._place_tensor(v)
                for (kind, _), v in zip(values, plain, strict=True)
            ]
            given = [(i, arg) for i, arg in enumerate(args) if isinstance(plain[i], torch.Tensor)]
            watched = [] if self._plain else given
            before = [
                (tensors.state(arg), tensors.raw_bytes(plain[position]))
                for position, arg in watched
            ]
            name = frame.header["name"]
            rows, at = frame.header["rows"], frame.header["at"]
            part = None if rows is None else (at, rows)
            structure, outputs = self._forward(name, model, caller, args, given, operators, part)
            if self._refilled and any(o.is_view for o in outputs):
                self._refilled.release(given_plain)
            mutated = [
                position
                for (position, arg), old in zip(watched, before, strict=True)
                if (tensors.state(arg), tensors.raw_bytes(self._place.to_host(arg))) != old
            ]
        except BaseException as error:  # noqa: BLE001 - SystemExit and the like are outcomes too
            self._send_failed(program.failure(error, self._scratch), self._report(operators))
            return
        self._send_results(structure, outputs, mutated, self._report(operators))

    def _dry_run(self, caller: Caller, frame: Frame) -> None:
        """Call forward on inputs with shapes only; its results are not sent."""
        given = [value for _, value in json.loads(bytes(frame.body))]
        try:
            args = dry_run.arguments(given, self._place.empty)
            self._place.poison([])
            self._channel.send("stage", stage="forward")
            with torch.no_grad():
                caller(*args)
            self._place.synchronize()
        except BaseException as error:  # noqa: BLE001 - SystemExit and the like are outcomes too
            if not dry_run.inconclusive(error, self._code):
                failed = program.failure(error, self._scratch)
                # Here only the submission's own message can be about memory.
                self._send_failed(replace(failed, out_of_memory=False), self._report(Counter()))
                return
        self._send_results("none", [], [], self._report(Counter()))

    def _forward(
        self,
        name: str,
        model: Any,
        caller: Caller,
        args: list[Any],
        given: list[tuple[int, torch.Tensor]],
        operators: Counter[str],
        part: tuple[int, int] | None,
    ) -> tuple[str, list[tensors.Output]]:
        self._channel.send("stage", stage="forward")
        self._place.seed(self._job["seed"])
        if self._plain:
            return plain_run.forward(caller, args, self._place)
        self._place.poison([tensor for _, tensor in given])
        logged = self._options.get("log_operators")
        exact = self._exactly(name, model, given)
        change = self._options.get("altered", {}).get(name)
        drawing = DrawnInSingle() if self._job["double"] else nullcontext()
        with torch.no_grad(), hold_altered(model, change), drawing:
            with OperatorLog(operators) if logged else nullcontext(), exact or nullcontext():
                result = self._call_model(name, model, caller, args)
            self._place.synchronize()
            structure, leaves = tensors.flatten(result)
            leaves = self._place.exact_results(exact, leaves) if exact else leaves
            if tensors.kernels() != self._kernels:
                raise RuntimeError("operators of torch by which results are read were replaced")
            self._place.check_outputs(leaves if part is None else [])
            if (asked := self._options.get("origins", {}).get(name)) is not None:
                self._place.tell_origins(self._roles(model, given, leaves), leaves, asked)
            if (asked := self._options.get("changes", {}).get(name)) is not None:
                leaves = self._run_changed(asked, name, model, caller, args)
            if part is not None:
                leaves = [piece for leaf in leaves for piece in self._some(leaf, *part)]
            with self._place.taking():
                captured = [tensors.capture(leaf, self._place.to_host, given) for leaf in leaves]
            self._place.look_around(self._roles(model, given, leaves))
        if self._job["role"] == "submission" and part is None:
            self._kept.add(name, leaves, captured)
        return structure, captured

    def _run_changed(
        self, asked: Mapping[str, Any], name: str, model: Any, caller: Caller, args: list[Any]
    ) -> list[Any]:
        """Return forward's results under changes of its kernels."""

        def call(*, anew: bool = False) -> list[Any]:
            made, calls = self._construct(sys.modules[program.MODULE])[:2] if anew else (model, caller)  # fmt: skip
            self._place.seed(self._job["seed"])
            result = self._call_model(name, made, calls, args)
            self._place.synchronize()
            return list(tensors.flatten(result)[1])

        given = [(n, arg) for n, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        return self._place.run_changed(asked, list(self._roles(model, given, [])), call)

    def _exactly(self, name: str, model: Any, given: list[tuple[int, torch.Tensor]]) -> Any:
        """Return the mode that follows operators in the exact algebra, if requested."""
        key = self._options.get("exact")
        if key is None:
            return None
        numbers = self._options.get("exact_numbers", {}).get(name, {})
        roles = self._roles(model, given, [])
        known = [(tensor, numbers.get(role)) for role, tensor in roles]
        literals = self._options.get("exact_literals", ())
        epsilon = EPSILON not in numbers
        return self._place.exactly(key, known, epsilon=epsilon, literals=literals)

    def _call_model(self, name: str, model: Any, caller: Caller, args: list[Any]) -> Any:
        asked = self._options.get("gradients", {}).get(name)
        return caller(*args) if asked is None else gradients(model, caller, args, asked)

    def _roles(
        self, model: Any, given: list[tuple[int, torch.Tensor]], leaves: list[Any]
    ) -> Iterator[tuple[str, Any]]:
        """Yield the tensors that a stray write may be beside, by role."""
        yield from ((f"input {position + 1}", tensor) for position, tensor in given)
        yield from ((f"output {number + 1}", leaf) for number, leaf in enumerate(leaves))
        yield from weights.tensors_of(model).items()

    def _some(
        self, leaf: torch.Tensor, at: int, rows: int
    ) -> tuple[torch.Tensor, torch.Tensor, int]:
        """Return rows of a result, how each element was written, and the bytes that kernels stored."""
        some = tensors.some_rows(leaf, at, rows)
        return some, self._place.writes_of(some), self._place.stored_bytes(leaf)

    def _report(self, operators: Counter[str]) -> bytes:
        """Return observations of the run as JSON, which explain a verdict and never decide it."""
        try:
            seen = {
                "operators": dict(operators),
                "simulator": self._place.report(),
                "guard_zones": self._place.zones(),
                "switches": precision.switched_on(),
            }
            return _dumps(seen).encode()
        except Exception as error:  # noqa: BLE001 - a broken report must not hide the outputs
            return json.dumps({"error": program.cut_text(str(error), 500)}).encode()

    def _send_failed(self, failure: Failure, report: bytes) -> None:
        self._channel.send(
            "result",
            report,
            status="out_of_memory" if failure.out_of_memory else "raised",
            reason=failure.reason,
            traceback=failure.traceback,
            line=failure.line,
            structure="none",
            outputs=0,
            mutated=[],
        )

    def _send_results(
        self, structure: str, outputs: list[tensors.Output], mutated: list[int], report: bytes
    ) -> None:
        self._channel.send(
            "result",
            report,
            status="ran",
            reason="",
            traceback="",
            line=None,
            structure=structure,
            outputs=len(outputs),
            mutated=mutated,
        )
        for output in outputs:
            self._channel.send("output", output.body, **output.header)
