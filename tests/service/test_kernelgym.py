"""A client of KernelGYM's protocol is served: it submits, polls, fetches, and backs off when it is told to.

The client here does what the public one does (this repository has no copy of it): statuses that end its polling, codes at
which it backs off, keys that it reads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from grader.config import Options
from grader.errors import GraderError
from grader.records import Assessment, Evaluation, Verdict
from grader.reward import Graded, Grader, reward_evaluation
from grader.service import kernelgym
from grader.service.kernelgym import KernelGym, result
from tests.trainers.replayed import DECOY, RIGHT, SIM, WRONG, builds, served
from tests.trainers.test_feedback import ANSWER, SECRET, told_by_a_run
from tests.whole import transcript

REFERENCE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(64, 128) - 0.5]


def get_init_inputs():
    return []
"""
ENDED = {"completed", "failed", "timeout", "cancelled"}


def payload(task_id: str, code: str, **more: Any) -> dict[str, Any]:
    """Return what the public client sends."""
    sent = {
        "task_id": task_id,
        "reference_code": REFERENCE,
        "kernel_code": code,
        "backend": "triton",
    }
    sent |= {"num_correct_trials": 5, "num_perf_trials": 100, "timeout": 300, "priority": "normal"}
    sent |= {
        "entry_point": "Model",
        "is_valid": False,
        "verbose_errors": True,
        "enable_profiling": True,
    }
    return sent | {"detect_decoy_kernel": True, "reference_backend": None} | more


def submitted_and_polled(client: httpx.Client, sent: dict[str, Any]) -> dict[str, Any]:
    while (said := client.post("/evaluate", json=sent)).status_code in {429, 503}:
        assert int(said.headers["Retry-After"]) > 0
        time.sleep(0.05)
    said.raise_for_status()
    while True:
        seen = client.get(f"/status/{sent['task_id']}").raise_for_status().json()
        if seen["status"] == "completed":
            found: dict[str, Any] = (
                client.get(f"/results/{sent['task_id']}").raise_for_status().json()
            )
            return found
        if seen["status"] in ENDED:
            return dict(seen)
        time.sleep(0.05)


@contextmanager
def gym(grader: Grader, queue: int) -> Iterator[httpx.Client]:
    """Serve a grader, and connect to it."""
    with (
        served(KernelGym(grader, queue).application()) as address,
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def text_grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    options = Options(device="none", cache=tmp_path_factory.mktemp("cache"), jobs=2)
    with Grader(options, seed=1) as grader:
        yield grader


@builds
@pytest.mark.slow
def test_answers_come_back_in_the_protocols_words() -> None:
    with Grader(Options.model_validate(SIM), seed=1) as grader, gym(grader, 8) as client:
        found = {
            name: submitted_and_polled(client, payload(name, code))
            for name, code in (("right", RIGHT), ("wrong", WRONG), ("decoy", DECOY))
        }
    said = {name: (one["compiled"], one["correctness"]) for name, one in found.items()}
    assert said == {"right": (True, True), "wrong": (True, False), "decoy": (True, True)}
    assert [one["decoy_kernel"] for one in found.values()] == [False, False, True]
    assert found["wrong"]["error_code"] == "CORRECTNESS_ERROR"
    assert found["right"]["metadata"]["num_custom_kernels"] == 1
    assert "speedup" not in found["right"], "nothing was measured"


def test_what_a_gpu_measured_is_told() -> None:
    verdict = Verdict(status="correct", sentence="", speedup=2.0, speedup_low=1.9, speedup_high=2.1)
    timed = Evaluation(
        submission="x", device="cuda", sandbox="none", own_share=1.0, verdict=verdict
    )
    graded = Graded(reward_evaluation(timed), Assessment(evaluation=timed))
    assert result(graded, "line", "")["speedup"] == 2.0


def test_words_that_clients_show_to_the_model_hold_no_secret() -> None:
    made = told_by_a_run("incorrect")
    graded = Graded(reward_evaluation(made.evaluation, findings=made.findings), made)
    assert SECRET not in str(result(graded, "line", ANSWER))
    assert SECRET in str(result(graded, "review", ANSWER))


def test_a_full_queue_is_backed_off_from_and_each_task_is_graded_once(
    text_grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    begin = text_grader.begin

    def counted(answer: Any) -> Any:
        begun.append(answer.id)
        return begin(answer)

    monkeypatch.setattr(text_grader, "begin", counted)
    with gym(text_grader, 2) as client, ThreadPoolExecutor(8) as pool:
        sent = [payload(f"t{n}", transcript(n)) for n in range(8)]
        found = list(pool.map(lambda one: submitted_and_polled(client, one), sent))
        again = submitted_and_polled(client, sent[0])
    assert {one["status"] for one in found} == {"failed"}, "not run here, so no grade"
    assert sorted(begun) == sorted(f"t{n}" for n in range(8))
    assert again["task_id"] == "t0"


def test_a_failure_of_ours_is_said_and_pauses_the_queue(
    text_grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(*_: object) -> None:
        raise GraderError("no space left on the disk")

    monkeypatch.setattr(text_grader, "_look_up_or_grade", failed)
    with gym(text_grader, 2) as client:
        lost = submitted_and_polled(client, payload("a", transcript(1)))
        assert (lost["status"], "no space" in lost["error_message"]) == ("failed", True)
        refused = client.post("/evaluate", json=payload("b", transcript(1)))
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")


def test_a_wait_of_ours_that_is_over_is_no_timeout_of_the_task(
    text_grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(text_grader, "_look_up_or_grade", failed)
    with gym(text_grader, 2) as client:
        assert submitted_and_polled(client, payload("a", transcript(1)))["status"] == "failed"


def test_a_task_that_takes_too_long_ends_and_keeps_its_place(
    text_grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    grade = text_grader._look_up_or_grade
    monkeypatch.setattr(
        text_grader, "_look_up_or_grade", lambda *given: release.wait(60) and grade(*given)
    )
    with gym(text_grader, 1) as client:
        slow = submitted_and_polled(client, payload("slow", transcript(1), timeout=0.2))
        assert slow["status"] == "timeout"
        assert client.post("/evaluate", json=payload("b", transcript(2))).status_code == 429
        release.set()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"not json", 422),
        (b"[" * 100_000, 422),
        (b"[]", 422),
        (b'{"task_id": "a"}', 422),
        (
            b'{"task_id": "a", "kernel_code": "class ModelNew", "reference_code": "no model here"}',
            422,
        ),
        (b" " * (17 << 20), 413),
    ],
    ids=["text", "deep", "list", "field", "task", "long"],
)
def test_what_is_no_task_is_refused(text_grader: Grader, body: bytes, status: int) -> None:
    with served(KernelGym(text_grader, 2).application()) as address:
        said = httpx.post(f"{address}/evaluate", content=body, timeout=60)
        assert (said.status_code, bool(said.json()["error"])) == (status, True)
        assert httpx.get(f"{address}/status/none").status_code == 404
        assert httpx.get(f"{address}/results/none").status_code == 404
        assert httpx.get(f"{address}/health").json()["active_tasks"] == 0


def test_results_are_kept_for_a_while(text_grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernelgym, "KEPT", 3)
    with gym(text_grader, 2) as client:
        for n in range(6):
            submitted_and_polled(client, payload(f"k{n}", transcript(n)))
        known = [client.get(f"/status/k{n}").status_code for n in range(6)]
    assert known == [404] * 3 + [200] * 3


def test_another_entry_point_is_known_as_ours() -> None:
    asked = kernelgym.Asked.model_validate(payload("a", "class NetNew: pass", entry_point="Net"))
    assert asked.answer.text.endswith("ModelNew = NetNew\n")
    assert (asked.answer.task or "").endswith("Model = Net\n")
