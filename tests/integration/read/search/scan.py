"""What searches have to find, by a plain look at what was recorded."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from playhead.model import names
from playhead.model.ref import ContentRef
from tests.support.made_up_runs import MadeUpRun


@dataclass(frozen=True)
class ToolCall:
    """A tool call as a program would find it in a file."""

    run: str
    place: int
    tool: str
    arguments: dict[str, Any]
    result: str
    after: str


def tool_calls(runs: Iterable[MadeUpRun]) -> Iterator[ToolCall]:
    for run in runs:
        after, place = "first", 0
        for span in run.spans:
            given = span.attributes
            if given[names.KIND] != "tool":
                continue
            arguments = json.loads(run.contents[given[names.TOOL_ARGUMENTS_REF]].data)
            answer = given.get(names.TOOL_RESULT_REF)
            text = "Error" if answer is None else json.loads(run.contents[answer].data)
            result = "error" if text.startswith("Error") else "empty" if text == "[]" else "ok"
            yield ToolCall(run.run, place, given[names.TOOL_NAME], arguments, result, after)
            after, place = result, place + 1


def texts_with(runs: Iterable[MadeUpRun], word: str) -> set[ContentRef]:
    """Messages that have this word."""
    pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    named = {message: run for run in runs for message in _said(run)}
    return {ref for ref, run in named.items() if pattern.search(run.contents[ref].data.decode())}


def _said(run: MadeUpRun) -> Iterator[ContentRef]:
    """Messages that a model had as its input, or answered with: no model was shown the last tool result."""
    for thread in run.threads[:-1]:
        yield from thread.messages
