"""support → [show] → terminal. Prints a recorded run."""

import json
from typing import Any, cast

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from playhead.demo.sizes import Sizes
from playhead.demo.support import Scene

_MAX_SHOWN = 90
_ROLES = {"system": "magenta", "user": "cyan", "assistant": "green", "tool": "blue"}


def show_scene(console: Console, scene: Scene) -> None:
    """Prints the conversation, its events, a state, a context, and their sizes."""
    _title(console, "An agent was observed")
    console.print(_line("customer", scene.task))
    console.print(_line("agent", scene.reply))
    console.print(_line("run", scene.url))
    _title(console, f"What happened: {len(scene.events)} events")
    console.print(_events(scene))
    _title(console, f"The state at event {scene.state['seq']}, where a tool failed")
    console.print(_state(scene))
    call = scene.context["call"]
    _title(console, f"What exactly the model saw at event {call['seq']}, right after that")
    for number, message in enumerate(scene.context["messages"], 1):
        console.print(_message(number, message), no_wrap=True, overflow="ellipsis")
    tools: list[Any] = scene.context["tools"] or []
    console.print(_line("tools", ", ".join(tool["function"]["name"] for tool in tools)))
    console.print(_line("settings", json.dumps(scene.context["settings"])))
    _title(console, "Bytes")
    console.print(_sizes(scene.sizes))
    if scene.page is not None:
        _title(console, "The run in the web UI, at the tool that failed")
        console.print(scene.page, soft_wrap=True)


def _events(scene: Scene) -> Table:
    table = Table("seq", "kind", "actor", "data", box=None, header_style="dim", pad_edge=False)
    for event in scene.events:
        style = {"critical": "bold"}.get(event["priority"], "red" if event["kind"].endswith("_failed") else "")
        data = ", ".join(f"{name}={_short(value)}" for name, value in event["data"].items() if _has_value(value))
        table.add_row(str(event["seq"]), Text(event["kind"], style=style), event["actor"] or "", Text(_cut(data)))
    return table


def _state(scene: Scene) -> Table:
    state, facts = scene.state, _facts()
    values = state.get("values")
    open_calls = ", ".join(f"{call['kind']} {call['name']}" for call in state["open_calls"])
    fields: dict[str, Any] = {
        "status": state["status"],
        "active agent": state["agent"],
        "model calls, tool calls": f"{state['llm_calls']}, {state['tool_calls']}",
        "messages so far": len(state["history"]),
        "tokens in, out": f"{state['input_tokens']:,}, {state['output_tokens']:,}",
        "open calls": open_calls or "none",
        "user state": _short(values["user_state"]) if values else None,
        "checkpoint": _short(values["checkpoint"]) if values else None,
        "errors": "; ".join(f"{error['error_type']}: {error['message']}" for error in state["errors"]),
    }
    for name, value in fields.items():
        if value not in (None, ""):
            facts.add_row(name, Text(str(value)))
    return facts


def _message(number: int, message: Any) -> Text:
    role = message["role"] if message else "?"
    texts = [_part(part) for part in message["parts"]] if message else ["(not stored)"]
    text = Text(f"{number:>2} ", style="dim")
    text.append(f"{role:<10}", style=_ROLES.get(role, ""))
    text.append("  ".join(texts))
    return text


def _part(part: dict[str, Any]) -> str:
    match part:
        case {"type": "tool_call", "name": name}:
            return f"{name}({_arguments(part.get('arguments'))})"
        case {"type": "tool_call_response"}:
            return _short(part.get("response"))
        case {"type": "reasoning"}:
            return f"[thinks: {part.get('content')}]"
        case _:
            return _short(part.get("content"))


def _arguments(arguments: object) -> str:
    if not isinstance(arguments, dict):
        return _short(arguments) if arguments else ""
    return ", ".join(f"{key}={value!r}" for key, value in cast(dict[str, Any], arguments).items())


def _sizes(sizes: Sizes) -> Table:
    table = Table("", "bytes", "÷ inline", box=None, header_style="dim", pad_edge=False)
    table.columns[1].justify = "right"
    for label, size in (
        ("inline: with content in span attributes, uncompressed", sizes.inline),
        ("sent: spans with refs, and each content once", sizes.wire),
        ("stored: contents and threads, in Postgres, with indexes", sizes.content),
        ("stored: everything, in Postgres, with indexes", sizes.database),
    ):
        table.add_row(label, f"{size:,}", f"1/{sizes.inline / size:.1f}" if 0 < size < sizes.inline else "")
    return table


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Rule(Text(text, style="bold"), align="left", style="dim"))


def _facts() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    return table


def _line(name: str, text: str) -> Text:
    return Text.assemble((f"{name:<10}", "dim"), text)


def _has_value(value: object) -> bool:
    return value not in (None, "", [], {})


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."
