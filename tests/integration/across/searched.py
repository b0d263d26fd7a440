"""Searches in the recorded airline runs, beside a plain scan of the file that they come from."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from playhead.client import AsyncClient
from playhead.model.canonical import content_of
from playhead.model.ref import ContentRef
from tests.integration.across.cases import RECORDED

EMPTY = {"", "[]", "{}", "null", "none"}


class ScannedCall(NamedTuple):
    """A tool call of the file; `after`: what the call before it came to."""

    run: str
    tool: str
    arguments: Mapping[str, Any]
    text: str
    result: str
    after: str


def scanned() -> list[ScannedCall]:
    """All tool calls of the file."""
    return [call for number, entry in enumerate(orjson.loads(RECORDED.read_bytes())) for call in _calls(number, entry)]


def _calls(number: int, entry: Mapping[str, Any]) -> Iterator[ScannedCall]:
    results = iter([message["content"] for message in entry["traj"] if message["role"] == "tool"])
    after = "first"
    for message in entry["traj"]:
        for asked in message.get("tool_calls") or ():
            text, call = next(results), asked["function"]
            result = "error" if text.startswith("Error") else "empty" if text.lower() in EMPTY else "ok"
            arguments = orjson.loads(call["arguments"])
            yield ScannedCall(f"{number + 1:08x}" * 4, call["name"], arguments, text, result, after)
            after = result


async def check_searches(client: AsyncClient) -> None:
    """Decisions by tool, argument, result and what came before, and texts by a word."""
    calls = scanned()
    questions: list[tuple[dict[str, Any], Callable[[ScannedCall], bool]]] = [
        ({"tool": "think", "after": "error"}, lambda call: (call.tool, call.after) == ("think", "error")),
        ({"tool": "book_reservation", "result": "error"}, lambda call: call[1::3] == ("book_reservation", "error")),
        ({"arguments": {"cabin": "economy"}}, lambda call: call.arguments.get("cabin") == "economy"),
        (
            {"tool": "update_reservation_flights", "arguments": {"cabin": "economy"}, "after": "error"},
            lambda call: (
                (call.tool, call.after) == ("update_reservation_flights", "error")
                and call.arguments.get("cabin") == "economy"
            ),
        ),
        ({"value": "M20IZO"}, lambda call: "M20IZO" in call.arguments.values()),
    ]
    for asked, holds in questions:
        expected = [(call.run, call.tool, call.result, call.after) for call in calls if holds(call)]
        found = client.search_decisions(kind="tool_call", limit=2_000, **asked)
        decisions = [(each["run"], each["tool"], each["result"], each["after"]) async for each in found]
        assert len(expected) >= 5, asked
        assert Counter(map(str, decisions)) == Counter(map(str, expected)), asked
    for word in ("HAT136", "M20IZO"):
        await _check_word(client, calls, word)


async def _check_word(client: AsyncClient, calls: list[ScannedCall], word: str) -> None:
    runs: dict[ContentRef, set[str]] = {}
    for call in calls:
        for value in (call.arguments, call.text):
            content = content_of(value)
            if re.search(rf"\b{word}\b", content.data.decode()):
                runs.setdefault(content.ref.plain, set()).add(call.run)
    found = {ContentRef(each["ref"]): each async for each in client.search_content(word, limit=2_000)}
    assert len(runs) > 10, word
    assert (found.keys() - runs.keys(), runs.keys() - found.keys()) == (set(), set()), word
    for ref, each in found.items():
        assert {seen["run"] for seen in each["seen"]} <= runs[ref]
