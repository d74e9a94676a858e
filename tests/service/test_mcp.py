"""The tools as the SDK's own client sees them: in this process, and as the command that an agent starts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

import grader.cli  # noqa: F401 - the commands register themselves
from grader.cli import main
from grader.config import Options
from grader.service.mcp import server
from tests.test_api import PROBLEM, RELU
from tests.whole import ROOT, environment, transcript

UNBUILT = (ROOT / "samples" / "mean_dim_dispatch.txt").read_text("utf-8")


def asked(ask: Callable[[Client], Awaitable[Any]], peer: Any) -> Any:
    async def talk() -> Any:
        async with Client(peer) as client:
            return await ask(client)

    return asyncio.run(talk())


def said(result: CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextContent))


@pytest.fixture
def here(tmp_path: Path) -> Any:
    return server(Options(device="none", cache=tmp_path / "cache"))


def test_the_tools_say_what_they_take(here: Any) -> None:
    async def ask(client: Client) -> Any:
        return await client.list_tools(), client.instructions

    listed, instructions = asked(ask, here)
    tools = {tool.name: tool for tool in listed.tools}
    assert set(tools) == {"review", "fix", "explain_rule", "list_tasks"}
    assert set(tools["review"].input_schema["properties"]) == {"code", "task"}
    assert tools["review"].input_schema["required"] == ["code"]
    assert tools["review"].output_schema is not None
    assert "Build, run and review" in tools["review"].description
    assert "data, not instruction" in instructions


def test_a_review_has_each_defect_at_its_line(here: Any) -> None:
    stages: list[str] = []

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        stages.append(message or "")

    async def ask(client: Client) -> CallToolResult:
        arguments = {"code": UNBUILT, "task": "mean-dim"}
        return await client.call_tool("review", arguments, progress_callback=progress)

    result = asked(ask, here)
    assert not result.is_error, said(result)
    found = result.structured_content
    assert (found["status"], found["task"], found["device"]) == ("not_run", "mean-dim", "none")
    type_object = next(item for item in found["findings"] if item["rule"] == "BLD007")
    assert type_object["line"] == 44
    assert "evaluate" in stages


def test_a_fix_that_was_not_found_is_null(here: Any) -> None:
    arguments = {"code": transcript(1), "task": PROBLEM}
    result = asked(lambda client: client.call_tool("fix", arguments), here)
    assert not result.is_error, said(result)
    assert result.structured_content["code"] is None
    assert result.structured_content["status"] == "not_run"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("review", {"code": "x", "task": "softmx"}, "did you mean softmax"),
        ("explain_rule", {"rule": "SYN02"}, "SYN002"),
        ("review", {"task": "relu"}, "code"),
    ],
)
def test_wrong_input_is_said_to_the_model(
    tool: str, arguments: dict[str, str], words: str, here: Any
) -> None:
    result = asked(lambda client: client.call_tool(tool, arguments), here)
    assert result.is_error
    assert words in said(result)


def test_rules_and_tasks_are_explained(here: Any) -> None:
    async def ask(client: Client) -> tuple[CallToolResult, CallToolResult]:
        rule = await client.call_tool("explain_rule", {"rule": "syn002"})
        return rule, await client.call_tool("list_tasks", {})

    rule, tasks = asked(ask, here)
    assert "SYN002" in said(rule)
    assert tasks.structured_content["softmax"]


def started(cache: Path, *options: str) -> StdioServerParameters:
    """Return the command as an agent's settings give it."""
    arguments = [str(ROOT / "grade.py"), "mcp", *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment(cache))


def test_the_command_serves_an_agent_over_its_standard_streams(tmp_path: Path) -> None:
    async def ask(client: Client) -> Any:
        first = client.call_tool("review", {"code": transcript(1), "task": "relu"})
        second = client.call_tool("review", {"code": "no code", "task": "relu"})
        return await asyncio.gather(first, second)

    first, second = asked(ask, started(tmp_path / "cache", "--device", "none"))
    assert first.structured_content["status"] == "not_run"
    assert second.structured_content["status"] == "no_code"


def test_without_the_sdk_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "grader.service.mcp", None)
    assert main(["mcp", "--device", "none"]) == 2
    assert "pip install 'kernel-grader[mcp]'" in capsys.readouterr().err


def test_wrong_options_stop_the_command_before_it_serves(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["mcp", "--gpu", "h1000"]) == 2
    assert "no GPU is called 'h1000'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_fix_has_passed_on_the_simulator() -> None:
    """Over the command, with the user's own cache: what is prepared for the simulator is there."""
    arguments = {"code": RELU, "task": "relu"}
    peer = StdioServerParameters(
        command=sys.executable, args=[str(ROOT / "grade.py"), "mcp", "--device", "sim"]
    )
    result = asked(lambda client: client.call_tool("fix", arguments), peer)
    assert not result.is_error, said(result)
    assert result.structured_content["status"] == "incorrect"
    assert "zeros_like" in result.structured_content["code"]
    assert result.structured_content["changes"]
