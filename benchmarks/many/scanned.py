"""Searches of the recorded runs, compared with a plain look at the file that they were recorded from."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from playhead.client import Client
from playhead.testing import Trajectory
from tests.support.replayed_runs import Replayed

_EMPTY = {"", "[]", "{}", "null", "none"}
_VALUES, _WORDS = 60, 40
# A word as every reader takes it, and one that may be a part of something longer.
_STRICT, _LOOSE = r"(?:^|[\s\"(]){}(?=[\s\"),.!?]|$)", r"(?i){}"


class FileCall(NamedTuple):
    """A tool call of the file, and what it came to."""

    run: str
    tool: str
    arguments: Mapping[str, Any]
    result: str
    after: str


def different_answers(client: Client, replayed: Sequence[Replayed]) -> tuple[int, list[str]]:
    """The number of searches that were compared, and a sentence for each whose answer is not that of the file."""
    wrong: list[str] = []
    asked = 0
    calls = [call for each in replayed for call in file_calls(each.run, each.trajectory)]
    for params in _questions(calls):
        named = params.get("arguments") or {}
        expected = Counter(
            (call.run, call.tool)
            for call in calls
            if all(getattr(call, name) == value for name, value in params.items() if name != "arguments")
            and all(value in values_of(call.arguments, name) for name, value in named.items())
        )
        found = Counter((each["run"], each["tool"]) for each in client.search_decisions(kind="tool_call", **params))
        asked += 1
        if found != expected:
            wrong.append(f"{params}: {found.total()} instead of {expected.total()}")
    texts = {each.run: _texts(each.trajectory) for each in replayed}
    for word in _plain_words(texts):
        expected_runs = {run for run, text in texts.items() if re.search(_STRICT.format(word), text)}
        found_runs = {
            seen["run"]
            for content in client.search_content(word)
            for whole in client.search_content(ref=content["ref"], limit=1_000)
            for seen in whole["seen"]
        }
        asked += 1
        if found_runs != expected_runs:
            wrong.append(f"{word!r}: {len(found_runs)} runs instead of {len(expected_runs)}")
    return asked, wrong


def file_calls(run: str, trajectory: Trajectory) -> Iterator[FileCall]:
    """The tool calls of a run of the file, in the order of their results."""
    requested: dict[str, tuple[str, Any]] = {}
    after = "first"
    for message in trajectory.messages:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            requested[call["id"]] = (function["name"], json.loads(function["arguments"]))
        asked = requested.pop(message.get("tool_call_id") or "", None)
        if asked is not None:
            text = str(message["content"])
            result = "error" if text.startswith("Error") else "empty" if text.strip().lower() in _EMPTY else "ok"
            yield FileCall(run, asked[0], asked[1], result, after)
            after = result


def values_of(arguments: Mapping[str, Any], name: str) -> list[str]:
    """The values at this path, at this path without indices, or at all paths that end with this name."""
    return [
        _text(value)
        for path, value in _leaves(arguments)
        if name in (path, re.sub(r"\[\d+\]", "", path), re.sub(r"\[\d+\]", "", path).split(".")[-1])
    ]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{n}]")
    else:
        yield path, value


def _questions(calls: Sequence[FileCall]) -> Iterator[dict[str, Any]]:
    chance = random.Random(14)
    for tool in sorted({call.tool for call in calls}):
        yield {"tool": tool}
        yield from ({"tool": tool, "result": result} for result in ("ok", "error", "empty"))
        yield {"tool": tool, "after": "error"}
    for call in chance.sample(calls, min(_VALUES, len(calls))):
        plain = {name: value for name, value in call.arguments.items() if not isinstance(value, dict | list)}
        if plain:
            name = chance.choice(sorted(plain))
            yield {"arguments": {name: _text(plain[name])}}
            yield {"tool": call.tool, "arguments": {name: _text(plain[name])}, "after": "error"}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _texts(trajectory: Trajectory) -> str:
    """What models saw and said in a run: what follows the last answer nobody saw."""
    last = trajectory.turns[-1] if trajectory.turns else 0
    said: list[str] = []
    for message in trajectory.messages[: last + 1]:
        said.append(str(message.get("content") or ""))
        said += [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return "\n".join(said)


def _plain_words(texts: Mapping[str, str]) -> Iterator[str]:
    """Words of small letters that stand by themselves wherever they stand."""
    words = sorted({word for text in texts.values() for word in re.findall(r"\b[a-z]{6,12}\b", text)})
    chance = random.Random(14)
    chance.shuffle(words)
    given = 0
    for word in words:
        strict = sum(len(re.findall(_STRICT.format(word), text)) for text in texts.values())
        loose = sum(len(re.findall(_LOOSE.format(word), text)) for text in texts.values())
        if strict == loose:
            given += 1
            yield word
        if given == _WORDS:
            return
