"""request → [rules] → answers. Conditions for requests: small predicates, combined with `&`, `|`, `~`.

A rule is a pure function of one request, so the same request always gets the same result.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from playhead.testing.request import ChatRequest, JsonObject, calls_of


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition for a request. `description` names it in the error when no rule matches.

    Write your own as `Rule("it is about money", lambda request: "$" in request.messages[-1]["content"])`.
    """

    description: str
    matches: Callable[[ChatRequest], bool]

    def __and__(self, other: Rule) -> Rule:
        return Rule(f"({self} & {other})", lambda request: self.matches(request) and other.matches(request))

    def __or__(self, other: Rule) -> Rule:
        return Rule(f"({self} | {other})", lambda request: self.matches(request) or other.matches(request))

    def __invert__(self) -> Rule:
        return Rule(f"~{self}", lambda request: not self.matches(request))

    def __bool__(self) -> bool:
        # `a and b` would silently be `b`: nobody means that.
        raise TypeError("a rule has no truth value by itself; combine rules with &, | and ~ instead of and, or, not")

    def __str__(self) -> str:
        return self.description


def any_request() -> Rule:
    """Matches every request."""
    return Rule("any_request()", lambda request: True)


def contains(text: str, *, role: str | None = None, last: bool = False) -> Rule:
    """Matches if the text of a message contains `text`; upper and lower case differ.

    All messages of the history count, of every role; tool call arguments do not. `role`: only messages of this role;
    `last`: only the last message (of that role): `contains("refund", role="user", last=True)`.
    """
    return Rule(
        _described("contains", text, role, last),
        lambda request: any(text in content for content in request.texts(role, last=last)),
    )


def regex(pattern: str | re.Pattern[str], *, role: str | None = None, last: bool = False) -> Rule:
    """Matches if the pattern is found (`re.search`) in the text of a message; `role` and `last` as in `contains`."""
    compiled = re.compile(pattern)
    return Rule(
        _described("regex", compiled.pattern, role, last),
        lambda request: any(compiled.search(content) for content in request.texts(role, last=last)),
    )


def tool_offered(name: str) -> Rule:
    """Matches if the request offers this tool to the model."""
    return Rule(f"tool_offered({name!r})", lambda request: name in map(_name_of_tool, request.tools))


def tool_requested(name: str) -> Rule:
    """Matches if an assistant message in the history asked for this tool."""
    return Rule(
        f"tool_requested({name!r})",
        lambda request: any(name == _name(call) for message in request.messages for call in calls_of(message)),
    )


def tool_result_received(name: str | None = None, *, last: bool = False) -> Rule:
    """Matches if the history has a result of this tool, or without a name, of any tool. `last`: only if it is the last
    message. The tool is known from the id of its call, or from the name in the result."""
    described = ", ".join([*([repr(name)] if name is not None else []), *(["last=True"] if last else [])])
    return Rule(f"tool_result_received({described})", lambda request: _has_result(request.messages, name, last=last))


def sequence(n: int) -> Rule:
    """Matches the n-th well-formed request that this server gets, counted from 1. A client's own retries count too."""
    if n < 1:
        raise ValueError(f"sequence({n}): requests are counted from 1")
    return Rule(f"sequence({n})", lambda request: request.number == n)


def context_exceeds(tokens: int) -> Rule:
    """Matches if the request has more tokens than that. An estimate: UTF-8 bytes of tools and messages as JSON, divided
    by four."""
    return Rule(f"context_exceeds({tokens})", lambda request: request.prompt_tokens > tokens)


def _described(rule: str, text: str, role: str | None, last: bool) -> str:
    return f"{rule}({text!r}{f', role={role!r}' if role else ''}{', last=True' if last else ''})"


def _name_of_tool(tool: JsonObject) -> str | None:
    return _name(tool) or tool.get("name")  # the Responses API has the name directly in the tool


def _name(call: JsonObject) -> str | None:
    # A custom tool and its calls have `custom` where a function has `function`.
    called: JsonObject = call.get("function") or call.get("custom") or {}
    return called.get("name")


def _has_result(messages: list[JsonObject], name: str | None, *, last: bool) -> bool:
    results = [message for message in messages[-1 if last else 0 :] if message["role"] in ("tool", "function")]
    if name is None or not results:
        return bool(results)
    names_by_id = {call["id"]: _name(call) for message in messages for call in calls_of(message) if call.get("id")}
    return any(name == (result.get("name") or names_by_id.get(result.get("tool_call_id") or "")) for result in results)
