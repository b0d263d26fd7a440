"""Conversations for tests of managed contexts: generated ones, in the form of each API, and checks of what is left."""

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from playhead.context import Context, Entry
from playhead.models.apis import ApiName

APIS: tuple[ApiName, ...] = ("chat", "responses", "anthropic", "gemini")
WORDS = ["refund", "order", "A17", "flight", "HAT136", "the", "of", "gate", "2024-05-15", "seat", "user_42", "error"]

texts = st.integers(1, 200).map(
    lambda number: " ".join(WORDS[(number * place) % 11] for place in range(number % 67 + 1))
)


@st.composite
def rounds(draw: Any) -> list[tuple[str, Any]]:
    """One round of tools: the answer's text, and (call id, arguments, result) of each call."""
    calls = draw(st.integers(1, 3))
    return [("calls", [(draw(texts), draw(texts)) for _ in range(calls)])]


@st.composite
def conversations(draw: Any) -> list[tuple[str, Any]]:
    """Steps: `("user", text)`, `("assistant", text)`, `("calls", [(argument, result), ...])`; begins with a user's."""
    steps: list[tuple[str, Any]] = [("user", draw(texts))]
    for _ in range(draw(st.integers(0, 12))):
        match draw(st.sampled_from(["talk", "tools", "tools"])):
            case "talk":
                steps += [("assistant", draw(texts)), ("user", draw(texts))]
            case _:
                steps += draw(rounds())
    return steps


def assistant_calls(api: ApiName, ids: Sequence[str], arguments: Sequence[str], *, thought: str = "hm") -> list[Any]:
    """An answer with tool calls, as the API writes it, with a signed thought where it has them."""
    if api == "chat":
        calls = [
            {"id": id_, "type": "function", "function": {"name": "look_up", "arguments": f'{{"q": "{argument}"}}'}}
            for id_, argument in zip(ids, arguments, strict=True)
        ]
        return [{"role": "assistant", "content": None, "tool_calls": calls}]
    if api == "responses":
        reasoning = {"type": "reasoning", "id": f"rs_{ids[0]}", "summary": [], "encrypted_content": thought}
        return [
            reasoning,
            *(
                {"type": "function_call", "call_id": id_, "name": "look_up", "arguments": f'{{"q": "{argument}"}}'}
                for id_, argument in zip(ids, arguments, strict=True)
            ),
        ]
    if api == "anthropic":
        blocks: list[Any] = [{"type": "thinking", "thinking": thought, "signature": f"signed-{ids[0]}"}]
        blocks += [
            {"type": "tool_use", "id": id_, "name": "look_up", "input": {"q": argument}}
            for id_, argument in zip(ids, arguments, strict=True)
        ]
        return [{"role": "assistant", "content": blocks}]
    parts: list[Any] = [
        {"functionCall": {"id": id_, "name": "look_up", "args": {"q": argument}}}
        for id_, argument in zip(ids, arguments, strict=True)
    ]
    parts[0]["thoughtSignature"] = "c2lnbmVk"
    return [{"role": "model", "parts": parts}]


def play(context: Context, steps: Iterable[tuple[str, Any]], api: ApiName = "chat", *, first: int = 0) -> None:
    """Adds the steps to a context. Results of the last call are added too. `first`: number of the first step, of which
    the ids of its calls are made."""
    for number, (kind, value) in enumerate(steps, first):
        if kind != "calls":
            context.add(kind, value)
            continue
        ids = [f"c{number}-{place}" for place in range(len(value))]
        context.raw.extend(assistant_calls(api, ids, [argument for argument, _ in value]))
        for id_, (_, result) in zip(ids, value, strict=True):
            context.add("tool", result, call=id_)


def check_valid(entries: Sequence[Entry]) -> None:
    """Fails unless calls and results are whole, results follow their calls, and the user speaks first."""
    open_calls: set[str] = set()
    seen: set[str] = set()
    for entry in entries:
        for call in entry.calls:
            open_calls.add(call)
            seen.add(call)
        for result in entry.results:
            assert result in seen, f"a result without its call: {result}"
            open_calls.discard(result)
    assert not open_calls, f"calls without results: {open_calls}"
    talk = [entry for entry in entries if not entry.is_instruction and entry.role != "system"]
    assert not talk or talk[0].role == "user", "the first message is not the user's"


def check_order(entries: Sequence[Entry]) -> None:
    """Fails unless the messages stand in the order of the history."""
    numbers = [entry.number for entry in entries if entry.kind != "summary"]
    assert numbers == sorted(numbers)
