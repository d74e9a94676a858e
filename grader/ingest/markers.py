"""Chat marks in a transcript: the speaker's role, and reasoning as opposed to the answer."""

from __future__ import annotations

import re

from grader.ingest.numbered import Line, Lines, trim_blank_lines

_ANSWER = re.compile(
    r"<\|im_start\|>\s*assistant|<\|assistant\|>|<\uff5cAssistant\uff5c>|<\|start_header_id\|>\s*assistant"
    r"|\[/INST\]|<start_of_turn>\s*model|<\|channel\|>\s*final\s*<\|message\|>"
    r"|^#{1,4} (?:Assistant|Response|Answer):?[ \t]*$|^(?:Assistant|ASSISTANT):[ \t]*$",
    re.MULTILINE,
)
_QUESTION = re.compile(
    r"<\|im_start\|>\s*user|<\|user\|>|<\uff5cUser\uff5c>|<\|start_header_id\|>\s*user"
    r"|\[INST\]|<start_of_turn>\s*user"
    r"|^#{1,4} (?:User|Human|Prompt|Question):?[ \t]*$|^(?:User|USER|Human|HUMAN):",
    re.MULTILINE,
)
_THINK_END = re.compile(
    r"</think(?:ing)?>|<\uff5cend\u2581of\u2581thinking\uff5c>|\u25c1/think\u25b7"
)
_THINK_START = re.compile(r"<think(?:ing)?>|\u25c1think\u25b7")
_TAG_LINE = re.compile(
    r"\s*(?:</?(?:think|thinking|answer|code|solution|output|s|python|final)>|<\|[^|<>\n]{1,40}\|>"
    r"|<\uff5c[^\uff5c\n]{1,40}\uff5c>|\[/?(?:INST|CODE|PYTHON)\])+\s*",
    re.IGNORECASE,
)
_LEADING_TAGS = re.compile(
    r"(?:.*<\|(?:message|end_header_id|im_start|assistant)\|>|\s*(?:</?think(?:ing)?>|<answer>|<code>))"
    r"(?=[^\s<])",
    re.IGNORECASE,
)
_TRAILING_TAGS = re.compile(
    r"(?:<\|[^|<>\n]{1,40}\|>|</think(?:ing)?>|</answer>|</code>|</s>|<\uff5c[^\uff5c\n]{1,40}\uff5c>)\s*$",
    re.IGNORECASE,
)


def answer_start(text: str) -> int:
    """Return the offset after the last mark that begins a turn of the model; 0 without one."""
    start = 0
    for found in _ANSWER.finditer(text):
        start = found.end()
    return start


def is_asked(text: str, offset: int) -> bool:
    """Whether the text at an offset is part of the prompt, by the chat marks.

    The prompt is everything before the model's first turn, and from a user's mark to the model's next turn.
    """
    if not _ANSWER.search(text, offset):
        return False
    last = max((found.end() for found in _ANSWER.finditer(text, 0, offset)), default=0)
    return last == 0 or _QUESTION.search(text, last, offset) is not None


def thought_end(text: str) -> int:
    """Return the offset up to which the text is reasoning: the last closing tag, or 0.

    Reasoning without an opening tag begins at the start of the text, as in the logs of reasoning models.
    """
    end = 0
    for found in _THINK_END.finditer(text):
        end = found.end()
    opening = [found.start() for found in _THINK_START.finditer(text, end)]
    # reasoning that never ends: there is no answer after it
    return len(text) if opening and not text[end : opening[0]].strip() else end


def is_tag_line(text: str) -> bool:
    """Whether a line holds only chat marks."""
    return bool(text.strip()) and _TAG_LINE.fullmatch(text) is not None


def without_tags(lines: Lines) -> Lines:
    """Remove chat marks from the first and last lines."""
    start, end = 0, len(lines)
    while start < end and (is_tag_line(lines[start].text) or not lines[start].text.strip()):
        start += 1
    if not any(is_tag_line(line.text) for line in lines[:start]):
        start = 0  # only blank lines, which belong to the block
    while end > start and (is_tag_line(lines[end - 1].text) or not lines[end - 1].text.strip()):
        end -= 1
    kept = trim_blank_lines(lines[start:end])
    return tuple(without_glued_tags(line) for line in kept)


def without_glued_tags(line: Line) -> Line:
    """Remove chat marks from both ends of a line of code."""
    text = line.text
    if "<" not in text:
        return line
    if found := _LEADING_TAGS.match(text):
        text = text[found.end() :]
    if found := _TRAILING_TAGS.search(text):
        text = text[: found.start()].rstrip()
    return Line(line.number, text)
