"""Finds completion, prompt and task in a record of JSONL or Parquet.

Knows plain records (`{"id", "completion"}` and its many spellings) and what the APIs of OpenAI
(chat, completions, responses, batch), Anthropic (messages, batch), Gemini and vLLM write.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from grader.ingest.kernelbench import identify
from grader.ingest.own_class import as_model, as_model_new
from grader.records import JsonValue, KernelBenchId

TEXT_FIELDS = (
    "completion",
    "response",
    "output",
    "generation",
    "generated_text",
    "model_output",
    "model_response",
    "raw_response",
    "answer",
    "text",
    "content",
    "generated",
    "generated_code",
    "final_code",
    "optimized_code",
    "extracted_code",
    "code",
    "kernel_code",
    "generated_kernel",
    "custom_code",
    "cuda_code",
    "triton_code",
    "final_triton_code",
    "kernel",
    "kernel_src",
    "solution",
    "prediction",
    "message",
)
"""Where a completion is looked for, in this order."""
LIST_FIELDS = (
    "choices",
    "completions",
    "responses",
    "outputs",
    "generations",
    "candidates",
    "samples",
)
PAIRS = (("chosen", "rejected"), ("code", "improved_code"))
"""Fields for two answers to one question, as in preference data and reflections."""
FAILED = ("error_type", "error_name", "traceback", "exception")
"""Fields of an error record: its `message` is the error's text, not a model's answer."""
ATTEMPT_FIELDS = ("turns", "attempts", "iterations", "rounds", "trajectory", "history")
"""Fields for an agent's attempts, in order: the last that names the class counts."""
WRAPPERS = ("body", "result", "response", "message", "data", "completion", "output")
PROMPT_FIELDS = ("prompt", "question", "instruction", "query", "input")
REFERENCE_FIELDS = (
    "ref_arch_src",
    "reference",
    "reference_code",
    "ref_code",
    "pytorch_code",
    "pytorch_code_module",
    "pytorch_code_functional",
    "python_code",
)
CLASS_FIELDS = ("entry_point", "module_name", "class_name")
"""Fields for the name of the reference's class."""
ID_FIELDS = (
    "id",
    "custom_id",
    "sample_id",
    "sample_key",
    "uuid",
    "uid",
    "name",
    "kernel_name",
    "index",
    "idx",
)
TASK_FIELDS = ("task", "task_name", "problem", "problem_name", "op_name", "op", "operator")

_MODULE = re.compile(r"^class \w+\(.*\bModule\):", re.MULTILINE)
ENTRY_CLASS = "ModelNew"
MAX_DEPTH = 6
MAX_NAME = 200


class Completion(NamedTuple):
    """The contents of a record."""

    id: str | None
    texts: tuple[str, ...]
    """Several where one request returned several answers."""
    prompt: str | None
    task: str | None
    kernelbench: KernelBenchId | None


def read_record(record: JsonValue) -> Completion | None:
    """Return a record's contents; None if it has no completion. Never raises."""
    if isinstance(record, str):
        return Completion(None, (record,), None, None, None)
    try:
        return _read_record(record) if isinstance(record, dict) else None
    except RecursionError:  # lists nested as deeply as the JSON parser allows
        return None


def _read_record(record: dict[str, JsonValue]) -> Completion | None:
    fields = _with_task_as_reference({str(key).lower(): value for key, value in record.items()})
    texts = _completions(fields, 0)
    if not texts:
        return None
    if (named := _with_own_class(fields)) is not None:
        fields, name = named
        texts = tuple(as_model_new(one, name) or one for one in texts)
    return Completion(
        _first_scalar(fields, ID_FIELDS),
        texts,
        _prompt(fields),
        _first_scalar(fields, TASK_FIELDS),
        _kernelbench(fields),
    )


def _with_task_as_reference(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the record with a task that is given as a problem's source among its references."""
    tasks = (fields.get(name) for name in TASK_FIELDS)
    source = next((one for one in tasks if isinstance(one, str) and _MODULE.search(one)), None)
    return fields if source is None else {"reference": source, **fields}


def _with_own_class(
    fields: dict[str, JsonValue],
) -> tuple[dict[str, JsonValue], str] | None:
    """Rename the class of a record's reference to `Model`; return the record and the class's own name."""
    held = ((name, fields.get(name)) for name in REFERENCE_FIELDS)
    field, text = next(((name, one) for name, one in held if isinstance(one, str)), ("", ""))
    said = as_model(text, _first_scalar(fields, CLASS_FIELDS))
    return ({**fields, field: said.text}, said.name) if said else None


def _completions(value: JsonValue, depth: int) -> tuple[str, ...]:
    """Return the completions in a value: a text, a message, a list, a wrapped response."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return ()
    if any(name in value for name in FAILED):
        value = {name: held for name, held in value.items() if name != "message"}
    if answer := _last_answer(value):
        return (answer,)
    if attempt := _last_attempt(value, depth):
        return (attempt,)
    pairs = (
        tuple(
            text
            for name in names
            for text in _completions(_text_or_list(value.get(name)), depth + 1)
        )
        for names in PAIRS
        if value.get(names[1]) or names[0] not in TEXT_FIELDS
    )
    lists = (value[name] for name in LIST_FIELDS if isinstance(value.get(name), list))
    ways = (
        *pairs,
        *(tuple(text for item in one for text in _completions(item, depth + 1)) for one in lists),
        *((text,) for name in TEXT_FIELDS if (text := _join_parts(value.get(name)))),
        *(_completions(value.get(name), depth + 1) for name in WRAPPERS),
    )
    return next(filter(None, ways), ())


def _last_answer(value: dict[str, JsonValue]) -> str:
    """Return the model's last message, or its last one that names the class if there is any."""
    said = [one for one in _messages(value) or () if _role(one) in {"assistant", "model", "gpt"}]
    texts = [f"{_message_text(one)}{_tool_arguments(one)}" for one in said]
    naming = [text for text in texts if ENTRY_CLASS in text]
    return next(reversed(naming or texts), "")


def _text_or_list(value: JsonValue) -> JsonValue:
    """Return a text, or the list of messages in a value."""
    return {"messages": value} if isinstance(value, list) else value


def _last_attempt(value: dict[str, JsonValue], depth: int) -> str:
    """Return an agent's last attempt that names the class, or "" where the record has an answer of its own."""
    if any(isinstance(value.get(name), str) for name in TEXT_FIELDS):
        return ""
    attempts = (one for name in ATTEMPT_FIELDS for one in _dicts(value.get(name)))
    texts = [text for one in attempts for text in _completions(one, depth + 1)]
    return next((text for text in reversed(texts) if ENTRY_CLASS in text), "")


def _tool_arguments(message: dict[str, JsonValue]) -> str:
    """Return the arguments of a message's tool calls as JSON: agents write files that way."""
    content, calls = message.get("content"), message.get("tool_calls")
    given = [
        *(one.get("input") for one in _dicts(content) if one.get("type") == "tool_use"),
        *(call.get("arguments") for one in _dicts(calls) for call in _dicts([one.get("function")])),
    ]
    texts = [one if isinstance(one, str) else json.dumps(one) for one in given if one]
    return "".join(f"\n\n{text}" for text in texts)


def _dicts(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _join_parts(value: JsonValue) -> str:
    """Return the text of a message: a string, or the text parts of a list."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [item for item in value if not isinstance(item, dict) or _is_answer(item)]
        return "".join(_join_parts(part) for part in parts)
    if isinstance(value, dict) and ("text" in value or "content" in value or "parts" in value):
        for name in ("content", "text", "parts"):
            if text := _join_parts(value.get(name)):
                return text
    return ""


def _is_answer(part: dict[str, JsonValue]) -> bool:
    return part.get("type") not in ("thinking", "reasoning", "redacted_thinking", "tool_use")


def _messages(value: dict[str, JsonValue]) -> list[dict[str, JsonValue]] | None:
    for name in ("messages", "conversation", "conversations"):
        if isinstance(value.get(name), list):
            return [item for item in value[name] if isinstance(item, dict)]
    return None


def _role(message: dict[str, JsonValue]) -> str:
    return str(message.get("role") or message.get("from") or "")


def _prompt(fields: dict[str, JsonValue]) -> str | None:
    parts: list[str] = []
    request = fields.get("request")
    for holder in (fields, request.get("body") if isinstance(request, dict) else None):
        messages = _messages(holder) if isinstance(holder, dict) else None
        asked = {"user", "system", "human", "developer"}
        parts += [_message_text(one) for one in messages or () if _role(one) in asked]
    for name in PROMPT_FIELDS:
        value = fields.get(name)
        if isinstance(value, list):
            parts += [_message_text(one) for one in value if isinstance(one, dict)]
        elif isinstance(value, str):
            parts.append(value)
    for name in REFERENCE_FIELDS:
        if isinstance(fields.get(name), str):
            parts.append(f"```python\n{fields[name]}\n```")
    return "\n\n".join(part for part in parts if part) or None


def _message_text(message: dict[str, JsonValue]) -> str:
    value = message.get("value")
    return value if isinstance(value, str) else _join_parts(message)


def _first_scalar(fields: dict[str, JsonValue], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip():
            text = str(value).strip()
            if len(text) <= MAX_NAME and "\n" not in text:
                return text
    return None


def _kernelbench(fields: dict[str, JsonValue]) -> KernelBenchId | None:
    level = _number(fields, "level", "level_id")
    problem = _number(fields, "problem_id", "task_id", "problem")
    if level is None or problem is None:
        names = (_first_scalar(fields, (name,)) for name in (*ID_FIELDS, *TASK_FIELDS, "task_id"))
        found = (identify(Path(f"{name}.py")) for name in names if name)
        return next(filter(None, found), None)
    return KernelBenchId(level=level, problem=problem, sample=_number(fields, "sample_id") or 0)


def _number(fields: dict[str, JsonValue], *names: str) -> int | None:
    for name in names:
        text = str(fields.get(name, "")).lower().removeprefix("level").strip("_ ")
        if text.isascii() and text.isdecimal() and len(text) < 7:
            return int(text)
    return None
