"""Proposals of a language model, if enabled, which are evaluated like any submission."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Template
from pydantic import BaseModel, ConfigDict, ValidationError

from grader.diagnose import Examiner, Program
from grader.ingest import extract
from grader.records import Finding, Repair, Sample, Submission, Task, Verdict
from grader.repair.families.kernels import environment
from grader.source import edits

MAX_TRIES = 3
TOKEN_BUDGET = 40_000
MAX_ANSWER = 400_000
SECONDS = 120.0


class ModelError(Exception):
    """The server or the model gave no usable answer."""


class Answer(BaseModel):
    """The schema of a repair prompt's answer."""

    model_config = ConfigDict(extra="ignore")
    code: str
    changes: list[str] = []


@dataclass
class Model:
    """A model behind an OpenAI-compatible server; key and base URL come from the usual variables."""

    name: str
    budget: int = TOKEN_BUDGET
    """Tokens that may be used for one sample, prompt and answer together."""
    used: int = 0
    seconds: float = SECONDS
    client: Any = field(default=None, repr=False)

    def ask(self, prompt: str) -> str:
        """Return the model's answer.

        Raises ModelError when the budget is spent, the server fails after the client's own retries,
        the stream is cut off, or the model refuses.
        """
        if self.used >= self.budget:
            raise ModelError(f"the token budget of {self.budget} is spent")
        import openai

        try:
            return self._stream(
                self.client or openai.OpenAI(max_retries=3, timeout=self.seconds), prompt
            )
        except (openai.OpenAIError, ValueError) as error:
            raise ModelError(f"{type(error).__name__}: {str(error)[:300]}") from error

    def _stream(self, client: Any, prompt: str) -> str:
        parts: list[str] = []
        reason = None
        counted = 0
        stream = client.chat.completions.create(
            model=self.name,
            messages=[{"role": "user", "content": prompt}],
            stream=True,
            stream_options={"include_usage": True},
            max_completion_tokens=max(256, self.budget - self.used),
        )
        for chunk in stream:
            for choice in chunk.choices:
                parts.append(choice.delta.content or "")
                reason = choice.finish_reason or reason
            counted = chunk.usage.total_tokens if chunk.usage else counted
            if sum(map(len, parts)) > MAX_ANSWER:
                break
        text = "".join(parts)
        self.used += counted or (len(prompt) + len(text)) // 3
        if reason != "stop":
            raise ModelError(f"the answer was cut off ({reason or 'the stream ended early'})")
        return text


def model_repair(
    task: Task, program: Program, examiner: Examiner, model: Model
) -> tuple[Repair | None, str]:
    """Request a repair, evaluate it, and retry with its verdict; return the first that passes."""
    failed = ""
    for attempt in range(1, MAX_TRIES + 1):
        try:
            answer = model.ask(_prompt("repair", program, task=task, failed=failed))
        except ModelError as error:
            return None, f"{model.name}: {error} (try {attempt}, {model.used} tokens used)"
        proposed = proposal(answer, program.submission.sample)
        if proposed is None:
            failed = "it held no program with a class ModelNew"
            continue
        evaluation = examiner.examine(proposed).evaluation
        verdict = evaluation.verdict
        if verdict.status == "correct":
            diff = edits.unified_diff(program.submission.code, proposed.code)
            title = f"proposed by {model.name} at try {attempt}"
            repair = Repair(
                kind="model", code=proposed.code, diff=diff, evaluation=evaluation, title=title
            )
            return repair, f"{model.used} tokens used"
        failed = f"{verdict.status}: {verdict.sentence}"
    return (
        None,
        f"{model.name}: {MAX_TRIES} tries, the last one {failed} ({model.used} tokens used)",
    )


def proposal(answer: str, sample: str) -> Submission | None:
    """Read the program from an answer: the requested JSON, else any block of code."""
    try:
        text = Answer.model_validate_json(_braced_text(answer)).code
    except ValidationError:
        text = answer
    found = extract(Sample(id=sample, origin="model", format="transcript", text=text)).submission
    return found.model_copy(update={"how": "proposed by a model"}) if found else None


def summarise(verdict: Verdict, findings: Sequence[Finding], model: Model) -> str:
    """Return the findings in a model's words, or nothing; raises ModelError."""
    return model.ask(
        _template("summary").render(verdict=verdict, findings=findings, marker=_marker())
    )


def _braced_text(answer: str) -> str:
    begin, end = answer.find("{"), answer.rfind("}")
    return answer[begin : end + 1] if 0 <= begin < end else "{}"


def _prompt(name: str, program: Program, *, task: Task, failed: str) -> str:
    return _template(name).render(
        task=task,
        verdict=program.evaluation.verdict,
        findings=program.findings,
        code=program.submission.code,
        failed=failed,
        marker=_marker(),
    )


def _marker() -> str:
    return secrets.token_hex(8)


def _template(name: str) -> Template:
    return environment(Path(__file__).parent / "prompts").get_template(f"{name}.md.jinja")
