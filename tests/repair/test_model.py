"""The real openai client against a real local server that misbehaves in every way we know of."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai
import pytest

from grader.diagnose import Program
from grader.records import Evaluation, Submission, Task, Verdict
from grader.repair.model import Model, ModelError, model_repair, proposal
from tests.examiners import Scripted

GOOD = "class ModelNew:\n    pass\n"
TASK = Task(name="t", title="A task", source="builtin", reference="class Model: ...", workloads=())
Reply = Callable[[BaseHTTPRequestHandler, int], None]


def evaluation(status: str) -> Evaluation:
    return Evaluation(
        submission="x",
        device="sim",
        sandbox="none",
        verdict=Verdict(status=status, sentence="As told."),
    )


PROGRAM = Program(
    Submission(sample="s", code="class ModelNew: ...\n", line_map=(1,), how="test"),
    evaluation("incorrect"),
    (),
)


def chunk(text: str, reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    data = {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [choice],
    }
    return f"data: {json.dumps(data)}\n\n".encode()


def stream(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.end_headers()
    handler.wfile.write(body)


def says(text: str) -> Reply:
    return lambda handler, _call: stream(
        handler, chunk(text) + chunk("", "stop") + b"data: [DONE]\n\n"
    )


def fails(status: int, then: Reply, headers: dict[str, str] | None = None) -> Reply:
    def reply(handler: BaseHTTPRequestHandler, call: int) -> None:
        if call > 1:
            return then(handler, call)
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "2")
        handler.end_headers()
        handler.wfile.write(b"{}")
        return None

    return reply


@pytest.fixture
def serve() -> Iterator[Callable[[Reply], tuple[Model, list[str]]]]:
    servers: list[ThreadingHTTPServer] = []

    def start(reply: Reply) -> tuple[Model, list[str]]:
        prompts: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                prompts.append(json.loads(self.rfile.read(size))["messages"][0]["content"])
                reply(self, len(prompts))

            def log_message(self, *_args: object) -> None:
                """Keep the test's output clean."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = openai.OpenAI(
            base_url=f"http://127.0.0.1:{server.server_port}/v1",
            api_key="none",
            max_retries=1,
            timeout=5,
        )
        return Model("m", client=client), prompts

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_an_answer_that_passes_becomes_a_repair(serve) -> None:
    model, prompts = serve(says(json.dumps({"code": GOOD, "changes": ["all"]})))
    repair, note = model_repair(TASK, PROGRAM, Scripted(lambda _: evaluation("correct")), model)
    assert repair is not None
    assert repair.code == GOOD
    assert "tokens used" in note
    assert "A task" in prompts[0]


def test_a_wrong_answer_is_asked_again_with_its_verdict_and_never_shown(serve) -> None:
    model, prompts = serve(says(json.dumps({"code": GOOD})))
    repair, note = model_repair(TASK, PROGRAM, Scripted(lambda _: evaluation("incorrect")), model)
    assert repair is None
    assert len(prompts) == 3
    assert "did not pass: incorrect: As told." in prompts[1]
    assert "3 tries" in note


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_in_trouble_is_asked_again(serve, status: int) -> None:
    model, _ = serve(fails(status, says(GOOD), {"Retry-After": "0"}))
    assert model.ask("hello") == GOOD


@pytest.mark.parametrize(
    "reply",
    [
        lambda handler, _call: stream(handler, chunk("half an ans")),
        lambda handler, _call: stream(handler, chunk("too long", "length")),
        lambda handler, _call: stream(handler, chunk("", "content_filter")),
        lambda handler, _call: stream(handler, b"data: {not json}\n\n"),
        fails(400, says("")),
    ],
    ids=["cut off", "length", "refused", "malformed", "bad request"],
)
def test_a_useless_answer_is_an_error_of_its_own_kind(serve, reply: Reply) -> None:
    model, _ = serve(reply)
    with pytest.raises(ModelError):
        model.ask("hello")


def test_a_failing_server_ends_the_search_with_a_note(serve) -> None:
    model, _ = serve(lambda handler, _call: stream(handler, chunk("half")))
    repair, note = model_repair(TASK, PROGRAM, Scripted(lambda _: evaluation("correct")), model)
    assert repair is None
    assert "cut off" in note


def test_the_budget_ends_it(serve) -> None:
    model, prompts = serve(says("x" * 3000))
    model.budget = 500
    model.ask("hello")
    with pytest.raises(ModelError, match="budget"):
        model.ask("hello")
    assert len(prompts) == 1


@pytest.mark.parametrize(
    "answer",
    [
        json.dumps({"code": GOOD}),
        f"Sure:\n```json\n{json.dumps({'code': GOOD})}\n```",
        f"```python\n{GOOD}```",
        GOOD,
    ],
)
def test_a_program_is_read_out_of_any_usual_answer(answer: str) -> None:
    found = proposal(answer, "s")
    assert found is not None
    assert found.code.strip() == GOOD.strip()


@pytest.mark.parametrize(
    "answer", ["", "I can't help with that.", "{}", '{"code": 3}', "```python\nprint(1)\n```"]
)
def test_an_answer_without_a_program_is_none(answer: str) -> None:
    assert proposal(answer, "s") is None
