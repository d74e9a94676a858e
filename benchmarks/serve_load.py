"""`kernel-grader serve` under load: many clients, worker processes killed, a full disk, slow clients, bodies too large.

    python benchmarks/serve_load.py [--requests 2000] [--clients 64] [--device sim] [--programs 12] [--kill-every 5]

Starts a server of its own on this machine. Each request is sent until it is answered with a verdict; a clear retry is
429 or 503 with `Retry-After`. Prints one line of figures; exits with 1 where a request was answered otherwise, with a
verdict that differs from the first one of its program, or not at all.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from tests.trainers.replayed import relu  # noqa: E402
from tests.whole import environment  # noqa: E402

TOKEN = "load"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
RETRIES = {429, 503}
MOST_TRIES = 2000


@dataclass
class Tally:
    """What came of the requests."""

    verdicts: Counter[str] = field(default_factory=Counter)
    retries: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    kills: int = 0

    def line(self) -> str:
        """Return it on one line."""
        times = sorted(self.seconds)
        p50, p99 = (
            (statistics.median(times), times[int(0.99 * (len(times) - 1))]) if times else (0, 0)
        )
        said = f"{sum(self.verdicts.values())} verdicts {dict(self.verdicts)}; retries {dict(self.retries)}; "
        return (
            said
            + f"{self.kills} workers killed; {p50:.2f} s median, {p99:.2f} s p99; {len(self.wrong)} wrong"
        )


@dataclass(frozen=True)
class Server:
    """A server of our own."""

    process: subprocess.Popen[str]
    address: str

    def workers(self) -> list[int]:
        """Return its other processes that grade: its children that are such."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                ours = b"grader.scheduling.worker_process" in path.read_bytes()
                parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            found += [int(path.parent.name)] if ours and parent == self.process.pid else []
        return found

    def megabytes(self) -> int:
        """Return what the leading process holds of memory."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", text)
        return int(found[1]) // 1024 if found else 0

    def descriptors(self) -> int:
        """Return how many files the leading process has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@contextmanager
def serving(token: Path, cache: Path, *options: str) -> Iterator[Server]:
    """Start `kernel-grader serve` on a free port, with a token in a file of its own."""
    token.write_text(TOKEN)
    with free_port() as port:
        pass
    command = [sys.executable, str(ROOT / "grade.py"), "serve", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--token-file", str(token), *options],
        env=environment(cache),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    server = Server(process, f"http://127.0.0.1:{port}")
    try:
        _until_it_answers(server)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def free_port() -> Iterator[int]:
    """Yield a port of this machine that is free."""
    import socket

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def _until_it_answers(server: Server, seconds: float = 1200.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.process.poll() is None:
        try:
            httpx.get(f"{server.address}/health", headers=BEARER, timeout=5)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server does not answer")


async def load(
    server: Server, texts: Sequence[str], requests: int, clients: int, kill_every: float | None
) -> Tally:
    """Send requests from so many clients at once, and kill a worker now and then."""
    tally, first = Tally(), dict[str, str]()
    numbers = iter(range(requests))
    done = asyncio.Event()

    async def client() -> None:
        async with httpx.AsyncClient(headers=BEARER, timeout=600) as http:
            for number in numbers:
                await _answered(http, server, texts[number % len(texts)], tally, first)

    killer = asyncio.create_task(_kills(server, kill_every, tally, done))
    await asyncio.gather(*(client() for _ in range(clients)))
    done.set()
    await killer
    return tally


async def _answered(
    http: httpx.AsyncClient, server: Server, text: str, tally: Tally, first: dict[str, str]
) -> None:
    begin = time.monotonic()
    for _ in range(MOST_TRIES):
        said = await http.post(f"{server.address}/grade", json={"text": text, "task": "relu"})
        if said.status_code not in RETRIES:
            break
        tally.retries[said.status_code] += 1
        await asyncio.sleep(float(said.headers["Retry-After"]) * random.uniform(0.2, 1.0))
    tally.seconds.append(time.monotonic() - begin)
    if said.status_code != 200:
        tally.wrong.append(f"{said.status_code} {said.text[:200]}")
        return
    status = said.json()["status"]
    tally.verdicts[status] += 1
    if first.setdefault(text, status) != status:
        tally.wrong.append(f"{status} where it was {first[text]}")


async def _kills(server: Server, every: float | None, tally: Tally, done: asyncio.Event) -> None:
    while every is not None and not done.is_set():
        try:
            await asyncio.wait_for(done.wait(), random.uniform(0.5, 1.5) * every)
        except TimeoutError:
            found = server.workers()
            if found:
                os.kill(random.choice(found), signal.SIGKILL)
                tally.kills += 1


async def hostile(server: Server, slow: int) -> list[str]:
    """Send bodies that are too large, and bodies that never end; return what was not answered as it should be."""
    async with httpx.AsyncClient(headers=BEARER, timeout=120) as http:
        large = http.post(f"{server.address}/grade", content=b" " * (17 << 20))
        told = await asyncio.gather(large, *(_dribble(server) for _ in range(slow)))
    wrong = [] if told[0].status_code == 413 else [f"a large body: {told[0].status_code}"]
    return wrong + [f"a slow client: {line!r}" for line in told[1:] if b" 408 " not in line]


async def _dribble(server: Server) -> bytes:
    host, port = server.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /grade HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 1000\r\n\r\n"
    writer.write(head.encode())
    line = asyncio.create_task(reader.readline())
    for _ in range(90):
        if line.done():
            break
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.5)
    answered = await line
    writer.close()
    return answered


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a file system of this size on a folder; needs root. Raises PermissionError where that is refused."""
    folder.mkdir()
    size = f"size={megabytes}m"
    mount = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        raise PermissionError(done.stderr.strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


async def full_disk(server: Server, disk: Path, text: str) -> list[str]:
    """Fill the disk, ask, free it, ask again; return what was not answered as it should be."""
    filler = disk / "filler"
    with filler.open(
        "wb", buffering=0
    ) as file:  # what is buffered would be written, and refused, once more at the end
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass
    async with httpx.AsyncClient(headers=BEARER, timeout=600) as http:
        body = {"text": text, "task": "relu"}
        said = await http.post(f"{server.address}/grade", json=body)
        full = said.status_code == 503 and "Retry-After" in said.headers
        filler.unlink()
        again = await http.post(f"{server.address}/grade", json=body)
    wrong = [] if full else [f"a full disk: {said.status_code} {said.text[:200]}"]
    return wrong + (
        [] if again.status_code == 200 else [f"after it: {again.status_code} {again.text[:300]}"]
    )


def programs(count: int) -> list[str]:
    """Return answers to the task relu, every second one wrong."""
    return [relu(f"x[i] > 0 ? x[i] : {n % 2}.0f * {n}") for n in range(count)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--device", default="sim")
    parser.add_argument("--programs", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--queue", type=int, default=48)
    parser.add_argument(
        "--cache", type=Path, help="a store that is prepared already; else a new one"
    )
    parser.add_argument("--kill-every", type=float, default=5.0)
    given = parser.parse_args()
    options = ("--device", given.device, "--jobs", str(given.jobs), "--queue", str(given.queue))
    with tempfile.TemporaryDirectory(prefix="kg-load-") as name:
        folder, texts = Path(name), programs(given.programs)
        with serving(folder / "token", given.cache or folder / "cache", *options) as server:
            before = (server.megabytes(), server.descriptors())
            begin = time.monotonic()
            tally = asyncio.run(
                load(server, texts, given.requests, given.clients, given.kill_every)
            )
            took = time.monotonic() - begin
            wrong = tally.wrong + asyncio.run(hostile(server, given.queue // 2))
            after = (server.megabytes(), server.descriptors())
            print(
                f"{given.requests} requests of {given.clients} clients in {took:.0f} s: {tally.line()}",
                flush=True,
            )
            print(
                f"leading process: {before[0]} MB and {before[1]} descriptors before, {after[0]} MB and {after[1]} after"
            )
        text = ("--device", "none", *options[2:])
        with (
            small_disk(folder / "disk", 50) as disk,
            serving(folder / "token", disk / "cache", *text) as server,
        ):
            wrong += asyncio.run(full_disk(server, disk, programs(1)[0]))
    print(
        *(wrong or ["a large body, slow clients and a full disk: answered as they should be"]),
        sep="\n",
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
