"""Submissions that try to get out, to take too much, or to say what isn't so; under each form."""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.guest import main as guest_main
from grader.sandbox import Form, Limits, interpreter

MARK = f"kg-esc-{os.getpid()}"
NAME_ME = f"""
import ctypes, json, socket, subprocess, time
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(15, b"{MARK}", 0, 0, 0)
"""
TRY_ALL = """
def attempt(name, action):
    try:
        if action():
            succeeded.append(name)
    except BaseException:
        pass

def call(number, *arguments):
    return libc.syscall(number, *arguments) >= 0

def opened(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags, 0o600))
    return True

def connected(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(2)
        s.connect(address)
    return True

def signalled(pid):
    os.kill(pid, 0)
    return True

succeeded = []
"""


def marked() -> list[int]:
    """Processes anywhere on this machine that a test's guest has named."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == MARK:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    assert marked() == []


@pytest.fixture
def secret() -> Iterator[Path]:
    path = Path.home() / f".kernel-grader-test-secret-{os.getpid()}"
    path.write_text("the canary sings")
    path.chmod(0o600)
    yield path
    path.unlink()


@pytest.fixture
def listeners(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Sockets of the host that wait for a connection that must not come."""
    inet = socket.create_server(("127.0.0.1", 0))
    path = str(tmp_path / "socket")
    unix, abstract = (socket.socket(socket.AF_UNIX) for _ in range(2))
    unix.bind(path)
    Path(path).chmod(0o777)
    name = f"kernel-grader-test-{os.getpid()}"
    abstract.bind("\0" + name)
    for listener in (unix, abstract):
        listener.listen()
    yield {"port": inet.getsockname()[1], "unix": path, "abstract": "\0" + name}
    for listener in (inet, unix, abstract):
        listener.close()


def test_no_way_out(
    run: Any, each_form: Form, secret: Path, listeners: dict[str, Any], tmp_path: Path
) -> None:
    host = os.getpid()
    package = interpreter.PACKAGE
    everybody = each_form.name == "user-id"  # what every user may read, its guests may
    attempts = f"""
    attempt("read a secret", lambda: opened({str(secret)!r}))
    home = {str(secret.parent)!r}
    attempt("list home", lambda: not {everybody} and os.listdir(home).count({secret.name!r}))
    attempt("read the tests", lambda: not {everybody} and opened({__file__!r}))
    attempt("read shadow", lambda: opened("/etc/shadow"))
    attempt("read the host's environment", lambda: opened("/proc/{host}/environ"))
    attempt("read the host's memory", lambda: opened("/proc/{host}/mem"))
    attempt("write to home", lambda: opened({str(secret.parent / "x")!r}, os.O_CREAT | os.O_RDWR))
    attempt("write to tmp_path", lambda: opened({str(tmp_path / "x")!r}, os.O_CREAT | os.O_RDWR))
    attempt("write the guest", lambda: opened({guest_main.__file__!r}, os.O_RDWR))
    attempt("write beside it", lambda: opened({str(package / "x.py")!r}, os.O_CREAT | os.O_RDWR))
    attempt("write to torch", lambda: opened(torch.__file__, os.O_RDWR))
    attempt("write to /usr", lambda: opened("/usr/kg-x", os.O_CREAT | os.O_RDWR))
    attempt("write to /dev", lambda: opened("/dev/kg-x", os.O_CREAT | os.O_RDWR))
    attempt("remove python", lambda: os.unlink(os.path.realpath(sys.executable)) is None)
    attempt("core pattern", lambda: opened("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    attempt("a disk", lambda: opened("/dev/vda") or opened("/dev/sda"))
    attempt("make a device", lambda: os.mknod("node", {stat.S_IFBLK} | 0o600, 0x800) is None)
    inet, unix, stream = socket.AF_INET, socket.AF_UNIX, socket.SOCK_STREAM
    attempt("tcp", lambda: connected(inet, stream, ("127.0.0.1", {listeners["port"]})))
    attempt("udp", lambda: connected(inet, socket.SOCK_DGRAM, ("192.0.2.1", 53)))
    attempt("unix", lambda: connected(unix, stream, {listeners["unix"]!r}))
    attempt("abstract", lambda: connected(unix, stream, {listeners["abstract"]!r}))
    attempt("netlink", lambda: socket.socket(16, 3, 0))
    attempt("signal the host", lambda: signalled({host}))
    attempt("signal its parent", lambda: os.getppid() > 1 and signalled(os.getppid()))
    attempt("trace the host", lambda: libc.ptrace(16, {host}, 0, 0) == 0)
    parent = os.getppid()
    attempt("trace its parent", lambda: parent > 0 and libc.ptrace(16, parent, 0, 0) == 0)
    attempt("a user namespace", lambda: libc.unshare(0x10000000) == 0)
    attempt("a clone in one", lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0))
    attempt("a mount", lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0)
    attempt("chroot", lambda: os.chroot("/") is None)
    attempt("root again", lambda: os.getuid() != 0 and os.setuid(0) is None)
    attempt("a keyring", lambda: call(250, 0, -3, 1))
    attempt("bpf", lambda: call(321, 0, 0, 0))
    attempt("perf", lambda: call(298, 0, 0, -1, -1, 0))
    attempt("io_uring", lambda: call(425, 1, 0))
    attempt("a handle", lambda: call(304, -100, 0, 0))
    attempt("a memory file", lambda: os.memfd_create("x"))
    attempt("shared memory that stays", lambda: call(29, 0, 4096, 0o1600))
    attempt("semaphores that stay", lambda: call(64, 0, 1, 0o1600))
    attempt("a message queue", lambda: call(68, 0, 0o1600))
    attempt("more memory", lambda: __import__("resource").setrlimit(2, (-1, -1)) is None)
    print("succeeded:", json.dumps(succeeded))
    return x
    """
    reply = run(attempts, top=NAME_ME + TRY_ALL, form=each_form)
    assert reply.status == "done", (reply.reason, reply.log)
    assert json.loads(reply.log.split("succeeded:")[1]) == []
    assert "canary" not in reply.log
    assert not (secret.parent / "x").exists()
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("way", ["daemon", "bomb", "stopped bomb", "threads", "ignores signals"])
def test_nothing_outlives_it(run: Any, each_form: Form, way: str) -> None:
    body = {
        "daemon": """
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(1000)
                os._exit(0)
            return x
        """,
        "bomb": "while True:\n    try: os.fork()\n    except OSError: pass",
        "stopped bomb": """
            for _ in range(40):
                try:
                    if os.fork() == 0: os.kill(os.getpid(), 19)
                except OSError: pass
            os.kill(os.getpid(), 19)
        """,
        "threads": """
            import threading
            while True:
                try: threading.Thread(target=time.sleep, args=(1000,)).start()
                except RuntimeError: time.sleep(0.1)
        """,
        "ignores signals": """
            import signal
            for number in range(1, 65):
                try: signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError): pass
            libc.prctl(1, 0)
            time.sleep(1000)
        """,
    }[way]
    limits = Limits(wall=30, processes=60)
    began = time.monotonic()
    reply = run(body, top=NAME_ME, form=each_form, limits=limits, deadline=0.5)
    assert time.monotonic() - began < 25
    assert reply.status in ({"done"} if way == "daemon" else {"timeout", "killed"}), reply.reason
    assert marked() == []


@pytest.mark.parametrize(
    "way",
    ["one file", "many files", "deep folders", "memory", "shared memory", "many processes"],
)
def test_nothing_is_filled(run: Any, each_form: Form, way: str) -> None:
    body = {
        "one file": "open('big', 'wb').write(bytes(200 << 20)); return x",
        "many files": """
            for i in range(100):
                open(f'big{i}', 'wb').write(bytes(20 << 20))
            time.sleep(5)
        """,
        "deep folders": """
            for _ in range(3000):
                os.mkdir("d" * 100)
                os.chdir("d" * 100)
            os.chmod(".", 0)
            return x
        """,
        "memory": "keep = [bytearray(64 << 20) for _ in range(200)]; return x",
        "shared memory": """
            import mmap
            keep = [mmap.mmap(-1, 64 << 20) for _ in range(100)]
            for one in keep:
                one.write(bytes(64 << 20))
            time.sleep(100)
        """,
        "many processes": """
            for _ in range(30):
                if os.fork() == 0:
                    keep = bytearray(os.urandom(1)) * (400 << 20)
                    time.sleep(100)
            time.sleep(100)
        """,
    }[way]
    limits = Limits(wall=60, memory=2 << 30, scratch=100 << 20, file_size=50 << 20)
    reply = run(body, top=NAME_ME, form=each_form, limits=limits, deadline=40.0)
    expected = {
        "one file": ("File too large", "No space left", "SIGXFSZ"),
        "many files": ("No space left", "of disk"),
        "deep folders": ("",),
        "memory": ("MemoryError", "of memory"),
        "shared memory": ("of memory",),
        "many processes": ("of memory",),
    }[way]
    said = reply.reason + reply.results[0].reason
    assert any(text in said for text in expected), (reply.status, said)
    if "memory" in expected[-1]:
        assert reply.out_of_memory or reply.results[0].status == "out_of_memory"


FORGE = """
import struct

def frame(sequence, kind, body=b"", **header):
    text = json.dumps({"kind": kind, **header}).encode()
    return struct.pack("<4sIIQ", b"KGF1", sequence, len(text), len(body)) + text + body

def everywhere(data):
    for fd in range(3, 1024):
        try:
            os.set_blocking(fd, False)
            os.write(fd, data)
        except OSError:
            pass
"""


@pytest.mark.parametrize(
    "body",
    [
        "everywhere(b'correctness: True\\n'); return x",
        "everywhere(struct.pack('<4sIIQ', b'KGF1', 6, 20, 1 << 60)); return x",
        "everywhere(struct.pack('<4sIIQ', b'KGF1', 6, 0xFFFFFFFF, 0)); return x",
        "everywhere(frame(6, 'done')); return x",
        "everywhere(frame(6, 'ready', loaded='', state=['w'])); return x",
        "everywhere(frame(6, 'stage', stage='import')); return x",
        "everywhere(frame(6, 'described', b'{}')); os._exit(0)",
        "everywhere(frame(6, 'tensor', b'12', dtype='int8', shape=[2], strides=[1])); return x",
        "everywhere(frame(6, 'stage', stage='forward')); return x",
        "[os.dup2(0, fd) for fd in range(3, 1024)]; return x",
        "[os.dup2(1, fd) for fd in range(3, 1024)]; return x",
        "os.fork() or os._exit(0); return x",
        "os.closerange(0, 1024); os._exit(0)",
    ],
)
def test_forged_frames_are_verdicts(run: Any, each_form: Form, body: str) -> None:
    limits = Limits(wall=20)
    reply = run(body, top=NAME_ME + FORGE, form=each_form, limits=limits, deadline=3.0)
    # A write may miss: the channel's descriptors have unknown numbers and may be full.
    assert reply.status in {"crashed", "timeout", "done"}, reply
    if reply.status == "done":
        assert [o.array.tolist() for o in reply.results[0].outputs] == [list(range(6))]
    else:
        assert reply.results[0].status != "ran"


def test_a_forged_result_is_judged_by_its_bytes(run: Any, each_form: Form) -> None:
    body = """
    report = dict(status="ran", reason="", traceback="", line=None, structure="tensor", outputs=1)
    output = dict(dtype="float32", claimed_dtype="float32", shape=[2], strides=[1], device="cuda:0",
                  type_name="torch.Tensor", aliases=None)
    everywhere(frame(6, "result", b"", mutated=[], **report)
               + frame(7, "output", b"\\0" * 8, **output) + frame(8, "done"))
    time.sleep(100)
    """
    reply = run(body, top=NAME_ME + FORGE, form=each_form, deadline=3.0)
    # No more than if forward had returned it.
    assert reply.results[0].outputs[0].array.tolist() == [0.0, 0.0]


def test_of_two_that_answer_one_is_heard(run: Any, each_form: Form) -> None:
    reply = run("os.fork(); return x", top=NAME_ME, form=each_form, limits=Limits(wall=20))
    assert reply.status in {"crashed", "done"}
    if reply.results[0].status == "ran":
        assert reply.results[0].outputs[0].array.tolist() == list(range(6))


def test_output_beyond_the_limit_is_cut_off(run: Any) -> None:
    limits = Limits(wall=60, output=1 << 20)
    reply = run("return torch.zeros(1 << 20)", limits=limits)
    assert reply.status == "crashed"
    assert "allowed in all" in reply.reason


def test_hooks_at_the_end_change_nothing(run: Any) -> None:
    reply = run(
        """
        import atexit, gc, threading
        atexit.register(os._exit, 9)
        class Late:
            def __del__(self): os._exit(8)
        self.late = Late()
        sys.excepthook = lambda *a: os._exit(7)
        threading.Thread(target=time.sleep, args=(100,)).start()
        return x
        """,
        top=NAME_ME,
    )
    assert reply.status == "done"


def test_results_are_taken_at_once(run: Any) -> None:
    body = """
    import threading
    def change():
        time.sleep(0.3)
        out.fill_(9)
    out = x * 0
    threading.Thread(target=change).start()
    return out
    """
    reply = run(body, top=NAME_ME)
    np.testing.assert_array_equal(reply.results[0].outputs[0].array, np.zeros(6))


def test_the_file_of_its_own_memory_can_not_be_written(run: Any, each_form: Form) -> None:
    body = """
    opened = 0
    for path in ("/proc/self/mem", f"/proc/{os.getpid()}/task/{os.getpid()}/mem"):
        for how in (os.O_WRONLY, os.O_RDWR):
            try:
                opened += os.open(path, how) >= 0
            except OSError:
                pass
    return torch.tensor([opened])
    """
    reply = run(body, form=each_form)
    assert reply.results[0].outputs[0].array.tolist() == [0]


def test_methods_of_tensors_that_were_replaced_read_nothing(run: Any) -> None:
    top = """
    def zero(self, *args, **kwargs):
        return torch.zeros(6)

    for name in ("contiguous", "detach", "cpu", "to", "resolve_conj", "resolve_neg", "view", "copy_"):
        setattr(torch.Tensor, name, zero)
    torch.Tensor.dtype = torch.float16
    torch.Tensor.shape = (1,)
    torch.frombuffer = torch.empty_strided = zero
    """
    (output,) = run("return x", top=top).results[0].outputs
    assert (output.dtype, output.array.tolist()) == ("float32", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])


def test_a_structure_without_end_ends(run: Any) -> None:
    top = """
    class Endless(dict):
        def values(self):
            while True:
                yield self["x"]
    """
    (result,) = run("return Endless(x=x)", top=top).results
    assert (result.status, "more than 256 tensors" in result.reason) == ("raised", True)


def test_killed_guests_leave_nothing(run: Any, each_form: Form) -> None:
    """At any moment of its life; set KERNEL_GRADER_KILLS=1000 for a long night."""
    count = int(os.environ.get("KERNEL_GRADER_KILLS", "20"))
    top = NAME_ME + "if os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\n"
    replies = []

    def kill_some(share: int) -> None:
        for i in range(share):
            limits = Limits(wall=0.02 + 0.4 * i / share)
            replies.append(run("time.sleep(1000)", top=top, form=each_form, limits=limits))

    threads = [threading.Thread(target=kill_some, args=(count // 2,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(replies) == count // 2 * 2
    # Before the first line of the submission it is our own limit that was too short.
    assert {reply.status for reply in replies} <= {"timeout", "grader_error"}
    assert marked() == []
