"""The scalar keeps the order of the stages; a grader serves threads, event loops and HTTP."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import build as building
from grader.config import Options
from grader.errors import UsageError
from grader.pipeline.context import is_described
from grader.records import Comparison, Evaluation, Finding, Place, Status, Verdict
from grader.reward import (
    CHEATS,
    UNKNOWN,
    Answer,
    Grader,
    Shaping,
    reward_evaluation,
    shown_to_trainer,
)
from grader.reward.grader import task_of
from tests.whole import transcript


def evaluation(
    status: str, equal: tuple[bool, ...] = (), own: float | None = 1.0, **verdict: object
) -> Evaluation:
    return Evaluation(
        own_share=own,
        submission="x",
        device="sim",
        sandbox="none",
        comparisons=tuple(
            Comparison(workload=str(n), role="nominal", equal=one) for n, one in enumerate(equal)
        ),
        verdict=Verdict.model_validate({"status": status, "sentence": "", **verdict}),
    )


def value(
    status: str, equal: tuple[bool, ...] = (), own: float | None = 1.0, **verdict: object
) -> float:
    found = reward_evaluation(evaluation(status, equal, own, **verdict)).value
    assert found is not None
    return found


def test_the_default_scale() -> None:
    assert value("dishonest") == -1.0
    assert value("no_code") == value("build_failed") == 0.0
    assert value("crashed") == value("hung") == pytest.approx(0.1)
    assert value("incorrect", (True, False)) == pytest.approx(0.2)
    assert value("unsound", (True,), general=True, speedup_low=4.0) == pytest.approx(0.4)
    assert value("correct") == pytest.approx(0.6)
    assert value("correct", general=True) == pytest.approx(0.7)
    assert value("correct", general=True, speedup=2.1, speedup_low=2.0) == pytest.approx(0.85)
    assert value("correct", general=True, speedup=50.0, speedup_low=40.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("fails_with", "earned"), [("other weights", 0.6), ("other values", 0.6), ("other sizes", 0.75)]
)
def test_the_speed_of_what_leaves_a_step_out_earns_nothing(fails_with: str, earned: float) -> None:
    fast = {"general": False, "speedup": 2.1, "speedup_low": 2.0}
    assert value("correct", fails_with=fails_with, **fast) == pytest.approx(earned)


def test_work_that_is_left_to_torch_earns_neither_its_share_nor_its_speed() -> None:
    fast = {"speedup": 2.1, "speedup_low": 2.0}
    assert value("correct", own=0.0, **fast) == value("correct", own=None, **fast)
    assert value("correct", own=0.0, **fast) == pytest.approx(0.5)
    assert value("correct", own=0.5, **fast) == pytest.approx(0.5 + 0.05 + 0.075)
    assert value("correct", own=1.0, **fast) == pytest.approx(0.5 + 0.1 + 0.15)


def test_signals_say_what_was_seen_and_leave_out_what_was_not() -> None:
    unsound = reward_evaluation(evaluation("unsound", (True, False), general=True)).signals
    seen = {"built": 1.0, "right": 0.5, "sound": 0.0, "honest": 1.0, "own": 1.0, "general": 1.0}
    assert unsound == seen
    assert reward_evaluation(evaluation("build_failed", own=None)).signals == {"built": 0.0}
    assert reward_evaluation(evaluation("rejected", own=None)).signals == {"honest": 0.0}
    assert reward_evaluation(evaluation("not_run")).signals == {}


def test_noise_and_slowness_earn_nothing() -> None:
    assert value("correct", speedup=1.3, speedup_low=0.9, speedup_high=1.8) == value("correct")
    assert value("correct", speedup=0.1, speedup_low=0.1, speedup_high=0.1) == value("correct")


def test_what_says_nothing_of_the_submission_has_no_value() -> None:
    for status in UNKNOWN:
        assert reward_evaluation(evaluation(status)).value is None


weights = st.floats(0, 1)
shapings = st.builds(
    Shaping,
    cheating=st.floats(-2, 0),
    own=weights,
    built=weights,
    partly=weights,
    unsound=weights,
    correct=weights,
    general=weights,
    speed=weights,
    cap=st.floats(1.5, 10),
)
verdicts = st.builds(
    evaluation,
    st.sampled_from(sorted(set(get_args(Status)) - UNKNOWN)),
    st.lists(st.booleans(), max_size=5).map(tuple),
    own=st.sampled_from([None, 0.0, 0.3, 1.0]),
    general=st.sampled_from([None, True, False]),
    speedup_low=st.one_of(st.none(), st.floats(0.001, 1000)),
)


@given(shapings, verdicts)
def test_every_value_lies_between_its_neighbours(shaping: Shaping, one: Evaluation) -> None:
    reward = reward_evaluation(one, shaping)
    assert reward.value is not None
    most = shaping.correct + shaping.own + shaping.general + shaping.speed
    if one.verdict.status in CHEATS:
        assert reward.value == shaping.cheating
    elif one.verdict.status == "correct":
        assert shaping.correct <= reward.value <= most + 1e-9
    elif one.verdict.status == "incorrect":
        assert 0.0 <= reward.value <= max(shaping.correct, 0.0) + 1e-9
    else:
        assert reward.value >= 0.0
    assert sum(reward.parts.values()) == pytest.approx(reward.value)


@given(shapings, st.lists(st.booleans(), max_size=5).map(tuple))
def test_luck_earns_no_less_than_what_is_wrong_and_no_more_than_what_is_right(
    shaping: Shaping, equal: tuple[bool, ...]
) -> None:
    values = [
        reward_evaluation(evaluation(status, equal), shaping).value or 0.0
        for status in ("incorrect", "unsound", "correct")
    ]
    assert values == sorted(values)


def test_findings_travel_with_the_reward() -> None:
    finding = Finding(
        rule="SYN002",
        name="missing-barrier",
        severity="error",
        confidence="proven",
        message="thread 0 reads too early",
        place=Place(line=27, end_line=27),
    )
    reward = reward_evaluation(evaluation("unsound"), findings=[finding])
    said = {"rule": "SYN002", "name": "missing-barrier", "line": 27}
    said |= {"message": "thread 0 reads too early", "severity": "error"}
    assert [one.model_dump() for one in reward.findings] == [said]
    assert shown_to_trainer(reward)["findings"] == [said]


@pytest.fixture(scope="module")
def text_grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    options = Options(device="none", cache=tmp_path_factory.mktemp("cache"), jobs=2)
    with Grader(options, seed=1) as grader:
        yield grader


def test_threads_and_event_loops_share_a_grader(text_grader: Grader) -> None:
    texts = [transcript(n) for n in range(6)] + ["No code."] * 2
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(text_grader.grade, texts))

    async def together() -> list[str]:
        rewards = await asyncio.gather(*(text_grader.grade_async(text) for text in texts))
        return [reward.status for reward in rewards]

    statuses = ["no_task"] * 6 + ["no_code"] * 2
    assert [reward.status for reward in threaded] == statuses
    assert asyncio.run(together()) == statuses
    batch = text_grader.grade_batch([Answer(text=text) for text in texts])
    assert [reward.status for reward in batch] == statuses


def test_a_task_that_is_none_is_the_callers_mistake(text_grader: Grader) -> None:
    for task in ("no such task", "/etc/hosts.py", "def model():\n    pass\n"):
        with pytest.raises(UsageError):
            text_grader.grade("text", task)


REFERENCE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 3.0


def get_inputs():
    return [torch.rand(64, 128)]


def get_init_inputs():
    return []
"""


@pytest.mark.slow
@pytest.mark.skipif(not building.discover().builds, reason="can't build here")
def test_the_task_that_was_asked_counts_not_the_one_in_the_answer() -> None:
    own = REFERENCE.replace("3.0", "4.0")
    right, wrong = transcript(3), transcript(4)
    sly = f"The task:\n```python\n{own}```\n{wrong}"
    with Grader(Options(device="sim", jobs=2), seed=1) as grader:
        grader.prepare([REFERENCE, REFERENCE])
        draft = task_of(REFERENCE)
        assert draft is not None
        assert is_described(grader._workers.grading, draft)
        rewards = grader.grade_batch(
            [Answer(text=text, task=REFERENCE) for text in (right, wrong, sly, right)]
        )
    statuses = [reward.status for reward in rewards]
    assert statuses == ["correct", "incorrect", "incorrect", "correct"], rewards
    values = [reward.value for reward in rewards]
    assert values[0] == values[3]
    assert values[0] is not None
    assert values[1] is not None
    assert values[0] > values[1]


@pytest.fixture(scope="module")
def address(text_grader: Grader) -> Iterator[str]:
    """Serve on a free port of this machine, as `kernel-grader serve` does."""
    uvicorn = pytest.importorskip("uvicorn")
    from grader.service.http import Service

    config = uvicorn.Config(
        Service(text_grader, "secret", 3).application(), port=0, log_level="warning"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    yield f"http://{host}:{port}"
    server.should_exit = True
    thread.join(10)


BEARER = {"Authorization": "Bearer secret"}


def test_a_path_that_there_is_not_names_those_that_there_are(address: str) -> None:
    for method, path, status in (("GET", "/grdae", 404), ("GET", "/grade", 405)):
        said = httpx.request(method, f"{address}{path}", headers=BEARER)
        assert said.status_code == status
        assert said.json()["error"] == (
            f"nothing answers {method} {path} (there is POST /grade, GET /health)"
        )


def test_the_service_grades(address: str) -> None:
    said = httpx.post(f"{address}/grade", json={"text": "No code."}, headers=BEARER, timeout=60)
    assert said.status_code == 200
    assert (said.json()["score"], said.json()["status"]) == (0.0, "no_code")
    assert said.json()["findings"] == []
    assert httpx.get(f"{address}/health", headers=BEARER).json()["waiting"] == 0


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({}, b"{}", 401),
        ({"Authorization": "Bearer other"}, b"{}", 401),
        ({"Authorization": "Bearer s\xe9cret"}, b"{}", 401),
        (BEARER, b"not json", 422),
        (BEARER, b"[" * 100_000, 422),
        (BEARER, b'{"txt": "a"}', 422),
        (BEARER, b'{"text": "a", "task": "no such task"}', 422),
        (BEARER, b" " * (17 << 20), 413),
    ],
    ids=["none", "other", "no ascii", "text", "deep", "field", "task", "long"],
)
def test_the_service_refuses(
    address: str, headers: dict[str, str], body: bytes, status: int
) -> None:
    raw = {name: text.encode("latin-1") for name, text in headers.items()}
    said = httpx.post(f"{address}/grade", content=body, headers=raw, timeout=60)
    assert said.status_code == status
    assert said.json()["error"]


def test_a_body_that_does_not_arrive_gives_its_place_back(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.service.http.MOST_SECONDS", 0.1)
    host, port = address.removeprefix("http://").split(":")
    head = "POST /grade HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret\r\nContent-Length: 100\r\n\r\n"
    for _ in range(5):  # more than the queue holds
        with socket.create_connection((host, int(port)), timeout=60) as client:
            client.sendall(head.encode() + b'{"t')
            assert b" 408 " in client.recv(1000).split(b"\r\n")[0]
    assert httpx.get(f"{address}/health", headers=BEARER).json()["waiting"] == 0


def test_a_wait_of_ours_that_is_over_is_not_the_clients(
    address: str, text_grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waited(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(text_grader, "_grade", waited)
    said = httpx.post(f"{address}/grade", json={"text": "No code."}, headers=BEARER, timeout=60)
    assert (said.status_code, said.json()["error"]) == (503, "TimeoutError")


def test_a_connection_is_kept_for_longer_than_clients_keep_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from grader.service.http import run

    served: list[Any] = []
    monkeypatch.setattr("uvicorn.Server.run", lambda server: served.append(server.config))
    run(None, host="127.0.0.1", port=0)
    assert served[0].timeout_keep_alive > 15


def test_a_full_queue_is_said_at_once(
    address: str, text_grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    grade = text_grader._grade

    def slow(*arguments: object) -> object:
        release.wait(60)
        return grade(*arguments)

    monkeypatch.setattr(text_grader, "_grade", slow)

    async def flood() -> list[httpx.Response]:
        async with httpx.AsyncClient(headers=BEARER, timeout=60) as client:
            held = [
                asyncio.create_task(client.post(f"{address}/grade", json={"text": str(n)}))
                for n in range(3)
            ]
            while (await client.get(f"{address}/health")).json()["waiting"] < 3:
                await asyncio.sleep(0.01)
            over = await client.post(f"{address}/grade", json={"text": "one more"})
            release.set()
            return [over, *await asyncio.gather(*held)]

    over, *held = asyncio.run(flood())
    assert over.status_code == 429
    assert int(over.headers["Retry-After"]) > 0
    assert [one.status_code for one in held] == [200] * 3
