"""What a job gives: outputs, state, exceptions at their lines, and how it all ended."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.sandbox import (
    Form,
    GuestJob,
    GuestReply,
    GuestWorkload,
    Limits,
    converse,
    fork_server,
    interpreter,
    session,
    strongest,
    usage,
)

LINEAR = """
import torch

class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.inner = torch.nn.Linear(features, 3)

    def forward(self, x, scale):
        return self.inner(x) * scale
"""


def job(code: str, *workloads: GuestWorkload, **more: Any) -> GuestJob:
    values = {"role": "reference", "entry": "Model", "device": "cpu"} | more
    return GuestJob(code=code, workloads=workloads, **values)


def test_a_model_runs_with_the_state_that_it_reports() -> None:
    x = np.random.default_rng(1).normal(size=(4, 5)).astype(np.float32)
    loads = (
        GuestWorkload("a", (x, 2.0)),
        GuestWorkload("b", (x.T, 2.0)),
        GuestWorkload("c", (x, 1)),
    )
    reply = converse(job(LINEAR, *loads, init=(5,), want_state=True), strongest(), Limits())
    assert (reply.status, reply.stage) == ("done", "forward")
    assert [result.status for result in reply.results] == ["ran", "raised", "ran"]
    expected = x @ reply.state["inner.weight"].T + reply.state["inner.bias"]
    output = reply.results[0].outputs[0]
    np.testing.assert_allclose(output.array, expected * 2, rtol=1e-5)
    assert (output.device, output.dtype, output.type_name) == ("cpu", "float32", "torch.Tensor")
    assert "shapes cannot be multiplied" in reply.results[1].reason
    assert reply.results[1].line == 10


def test_what_its_parent_takes_to_load_is_not_the_guests_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(*asked: tuple[str, ...]) -> Any:
        time.sleep(1.1)
        return fork_server.shared_server(*asked)

    monkeypatch.setattr(session, "shared_server", load)
    assert converse(job(LINEAR, init=(5,)), strongest(), Limits(wall=1.0)).status == "done"


def test_float64_and_weights_by_name_then_by_order() -> None:
    renamed = LINEAR.replace("self.inner", "self.layer").replace("Model", "ModelNew")
    state = {"inner.weight": np.ones((3, 5), np.float32), "inner.bias": np.full(3, 7, np.float32)}
    x = np.ones((2, 5), np.float32)
    load = GuestWorkload("a", (x, 1.0))
    for code, entry, how in (
        (LINEAR, "Model", "2 by name and shape"),
        (renamed, "ModelNew", "2 by order among equal shapes"),
    ):
        reply = converse(
            job(code, load, init=(5,), entry=entry, state=state, double=True), strongest(), Limits()
        )
        assert reply.loaded == how
        assert reply.results[0].outputs[0].array.dtype == np.float64
        np.testing.assert_array_equal(reply.results[0].outputs[0].array, np.full((2, 3), 12.0))


def test_weights_cross_with_what_the_reference_drew() -> None:
    """The submission keeps the weight transposed and under another name."""
    x = np.ones((2, 5), np.float32)
    load = GuestWorkload("a", (x, 1.0))
    drew = converse(job(LINEAR, init=(5,), want_state=True), strongest(), Limits()).state
    state = {name: np.full_like(value, 3) for name, value in drew.items()}
    state["inner.weight"][1] = 1
    kept = LINEAR.replace("Model", "ModelNew").replace(
        "        self.inner = torch.nn.Linear(features, 3)\n",
        "        made = torch.nn.Linear(features, 3)\n"
        "        self.bias, self.table = made.bias, torch.nn.Parameter(made.weight.T.clone())\n",
    )
    kept = kept.replace("self.inner(x)", "(x @ self.table + self.bias)")
    given = job(kept, load, init=(5,), entry="ModelNew", state=state, initial=drew)
    reply = converse(given, strongest(), Limits())
    assert reply.loaded == "2 by value"
    output = reply.results[0].outputs[0].array
    np.testing.assert_array_equal(output, [[18.0, 8.0, 18.0]] * 2)


@pytest.mark.parametrize(
    "dtype",
    [
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
    ],
)
def test_every_dtype_crosses_unchanged(dtype: str, echo: Any) -> None:
    given, returned = echo[dtype]
    assert returned.dtype == given.dtype
    assert returned.tobytes() == given.tobytes()


@pytest.fixture(scope="module")
def echo() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Arrays of every dtype, and what came back, all in one guest."""
    from grader.sandbox.arrays import dtype_of

    names = [
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
    ]
    arrays = {name: (np.arange(12).reshape(3, 4) - 3).astype(dtype_of(name)) for name in names}
    code = "class Model:\n    def __call__(self, x): return x.clone()\n"
    loads = tuple(GuestWorkload(name, (array,)) for name, array in arrays.items())
    reply = converse(job(code, *loads), strongest(), Limits())
    assert reply.status == "done"
    return {r.name: (arrays[r.name], r.outputs[0].array) for r in reply.results}


def test_shapes_strides_structures_and_aliases(run: Any) -> None:
    code = """
class Model:
    def __call__(self, x, what):
        if what == "strides": return torch.tensor(x.stride())
        if what == "view": return x[1:]
        if what == "pair": return [x + 1, (x.sum(), 2.5)]
        if what == "named": return {"a": x.t()}
        if what == "mutate": return x.mul_(2)
        if what == "empty": return x[:0]
        if what == "half": return x.to(torch.float8_e4m3fn)
        if what == "sparse": return x.to_sparse()
        if what == "object": return object()
        if what == "none": return None
        return torch.empty(1000)
"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    names = [
        "strides",
        "view",
        "pair",
        "named",
        "mutate",
        "empty",
        "half",
        "sparse",
        "object",
        "none",
        "unwritten",
    ]
    loads = [GuestWorkload(name, (x, name)) for name in names]
    loads += [GuestWorkload("transposed", (x.T, "strides"))]
    reply = converse(job("import torch\n" + code, *loads, role="submission"), strongest(), Limits())
    got = {result.name: result for result in reply.results}
    assert got["strides"].outputs[0].array.tolist() == [3, 1]
    assert got["transposed"].outputs[0].array.tolist() == [1, 3]
    assert got["view"].outputs[0].aliases == 0
    assert got["pair"].structure == "list"
    assert [o.array.tolist() for o in got["pair"].outputs] == [(x + 1).tolist(), 15.0, 2.5]
    assert got["named"].structure == "dict"
    assert got["named"].outputs[0].strides == (1, 3)
    assert got["mutate"].mutated_inputs == (0,)
    assert got["view"].mutated_inputs == ()
    assert got["empty"].outputs[0].array.shape == (0, 3)
    assert got["half"].outputs[0].dtype == "float8_e4m3fn"
    assert got["half"].outputs[0].array.tolist() == x.tolist()
    assert got["sparse"].status == got["object"].status == "raised"
    assert got["none"].structure == "none"
    assert np.isnan(got["unwritten"].outputs[0].array).all()


@pytest.mark.parametrize(
    ("code", "stage", "reason", "line"),
    [
        ("import torch\nx = (1 +\n", "import", "SyntaxError", 2),
        ("def f():\n    raise ValueError('inner')\nf()\n", "import", "ValueError: inner", 2),
        ("import sys\nsys.exit(3)\n", "import", "SystemExit: 3", 2),
        ("x = 1\n", "construct", "defines no ModelNew", None),
        ("class ModelNew:\n    def __init__(self):\n        1 / 0\n", "construct", "ZeroDiv", 3),
        (
            "class E(Exception):\n    def __str__(self):\n        raise SystemExit\nraise E\n",
            "import",
            "can't be shown",
            4,
        ),
        ("raise MemoryError('\\udcff')\n", "import", "MemoryError", 1),
        ("raise Exception('x' * 10**7)\n", "import", "characters cut", 1),
    ],
)
def test_exceptions_come_with_their_line(
    code: str, stage: str, reason: str, line: int | None
) -> None:
    reply = converse(job(code, entry="ModelNew", role="submission"), strongest(), Limits())
    assert (reply.status, reply.stage, reply.line) == ("raised", stage, line)
    assert reason in reply.reason


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ("os._exit(0)", "crashed", "exit status 0"),
        ("os._exit(77)", "crashed", "exit status 77"),
        ("os.abort()", "crashed", "SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", "crashed", "SIGSEGV"),
        ("os.kill(os.getpid(), 9)", "killed", "SIGKILL"),
        ("import time; time.sleep(60)", "timeout", "not done"),
        ("os.kill(os.getpid(), 19)", "timeout", "not done"),
        ("os.closerange(3, 1024); import time; time.sleep(60)", "crashed", "went on running"),
    ],
)
def test_every_end_is_told_apart(
    run: Any, each_form: Form, body: str, status: str, reason: str
) -> None:
    deadline = 0.5 if status == "timeout" else 2.0
    reply: GuestReply = run(body, form=each_form, deadline=deadline)
    assert reply.status == status
    assert reason in reply.reason
    assert reply.results[0].status in {"crashed", "timeout"}


def test_a_guest_that_the_kernel_ended_for_lack_of_memory_is_not_at_fault(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = tmp_path / "vmstat"
    counts.write_text("nr_free_pages 5\noom_kill 3\npgfault 9\n")
    monkeypatch.setattr(usage, "VMSTAT", counts)
    assert usage.memory_kills() == 3
    assert run("os.kill(os.getpid(), 9)").status == "killed"
    seen = iter((3, 4))
    monkeypatch.setattr(session, "memory_kills", lambda: next(seen))
    reply: GuestReply = run("os.kill(os.getpid(), 9)")
    assert reply.status == "grader_error"
    assert "--memory-gb" in reply.reason


def test_the_log_is_kept_head_and_tail(run: Any) -> None:
    reply = run("""
        print("first words")
        os.write(2, b"x" * (8 << 20))
        print("last words", file=sys.stderr)
        return x
    """)
    assert reply.status == "done"
    assert len(reply.log) < 3 << 20
    assert reply.log.startswith("first words")
    assert "bytes cut" in reply.log
    assert reply.log.rstrip().endswith("last words")


def test_a_tool_around_a_guest_may_speak_after_it() -> None:
    around = ("/bin/sh", "-c", '"$@"; sleep 1; echo the tool has seen it', "sh")
    reply = converse(job(LINEAR, init=(5,), under=around), strongest(), Limits())
    assert (reply.status, reply.log.splitlines()[-1:]) == ("done", ["the tool has seen it"])


def test_operators_are_counted(run: Any) -> None:
    reply = run("return torch.relu(x) + 1", options={"log_operators": True})
    assert reply.results[0].report["operators"] == {"aten.relu.default": 1, "aten.add.Tensor": 1}


def test_source_can_be_inspected(run: Any) -> None:
    reply = run("import inspect\nreturn torch.tensor(len(inspect.getsource(type(self))))")
    assert reply.results[0].outputs[0].array > 50


def test_built_files_come_back_and_go_in_again(run: Any, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    reply = run(
        """
        base = os.environ["TORCH_EXTENSIONS_DIR"] + "/k"
        os.makedirs(base + "/deep", exist_ok=True)
        open(base + "/k.so", "wb").write(b"ELF")
        open(base + "/deep/.ninja_log", "w").write("log")
        os.chmod(base + "/k.so", 0o755)
        os.utime(base + "/k.so", ns=(10**18 + 123456789,) * 2)
        os.symlink("/etc/passwd", base + "/link")
        os.symlink("/etc", base + "/folder")
        os.mkfifo(base + "/pipe")
        open(base + "/bad\\nname", "w").write("x")
        open(base + "/.hidden", "w").write("x")
        return x
        """,
        keep_artifact=kept,
    )
    assert reply.status == "done"
    assert sorted(p.relative_to(kept).as_posix() for p in kept.rglob("*") if p.is_file()) == [
        "k/deep/.ninja_log",
        "k/k.so",
    ]
    assert (kept / "k/k.so").stat().st_mtime_ns == 10**18 + 123456789
    # os.walk names a link to a folder as a folder, and does not follow it.
    assert {"k/link", "k/pipe", "k/.hidden"} <= set(reply.skipped_files)
    again = run(
        """
        base = os.environ["TORCH_EXTENSIONS_DIR"] + "/k/k.so"
        assert os.access(base, os.X_OK) and os.stat(base).st_mtime_ns == 10**18 + 123456789
        return torch.tensor(list(open(base, "rb").read()))
        """,
        artifact=kept,
    )
    assert bytes(again.results[0].outputs[0].array.astype(np.uint8)) == b"ELF"


def test_a_job_that_can_not_cross_is_our_own_failure() -> None:
    load = GuestWorkload("a", (np.array(["text"]),))
    reply = converse(job(LINEAR, load, init=(5,)), strongest(), Limits())
    assert reply.status == "grader_error"


def test_several_at_once(run: Any, each_form: Form) -> None:
    replies: list[GuestReply] = []
    threads = [
        threading.Thread(target=lambda: replies.append(run("return x * 2", form=each_form)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [reply.status for reply in replies] == ["done"] * 3


def test_a_result_that_a_later_call_overwrites_is_told(run: Any) -> None:
    loads = tuple(GuestWorkload(name, (np.full(3, i, np.float32),)) for i, name in enumerate("abc"))
    top = "kept = torch.empty(3)\n"
    reply = run("return kept.copy_(x)", top=top, workloads=loads)
    assert [r.changed_later for r in reply.results] == [True, True, False]
    assert [r.outputs[0].array.tolist() for r in reply.results] == [[i] * 3 for i in range(3)]
    reply = run("return x + 1", workloads=loads)
    assert not any(r.changed_later for r in reply.results)


def test_the_guest_is_out_of_easy_reach(run: Any) -> None:
    reply = run("""
        import gc
        names = [name for name in sys.modules if name.startswith("grader")]
        names += [name for name in vars(sys.modules["__main__"]) if not name.startswith("__")]
        kinds = {type(item).__name__ for item in gc.get_objects()}
        print(names, kinds & {"Channel", "Session", "Kept", "Decoder"})
        try:
            import grader.guest.session
            print("imported", grader.guest.session.__file__)
        except ImportError:
            print("no grader")
        return x
    """)
    assert reply.status == "done"
    assert "[] set()" in reply.log
    shared = (interpreter.PACKAGE.parent / "torch").is_dir()  # installed beside torch
    assert shared or "no grader" in reply.log
