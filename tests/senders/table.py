"""The table in docs/integrations.md, made of what was captured."""

import json
from collections import defaultdict

from playhead.model import names
from playhead.model.event import ToolCalled, ToolCompleted
from playhead.model.span import Attributes
from tests.senders.losses import CONTEXT_DIFFERS, NO_CONTEXT
from tests.senders.sent import GOLDEN, captured, sent

# What no package that we could find sends; only OpenTelemetry's conventions name it.
_NOT_SENT = ("operations on memory",)


def table() -> str:
    """A row for each sender."""
    rows = ["| sender | captured from | context | tools | tokens of a stream |", "|---|---|---|---|---|"]
    for path in sorted(GOLDEN.glob("*.json")):
        if path.name.endswith(".lifted.json"):
            continue
        packages = json.loads(path.read_text(encoding="utf-8"))["packages"]
        versions = ", ".join(f"{name} {version}" for name, version in packages.items())
        rows.append(
            f"| {path.stem} | {versions} | {_context(path.stem)} | {_tools(path.stem)} | {_tokens(path.stem)} |"
        )
    return "\n".join(rows)


def kinds_table() -> str:
    """A row for each kind of span, with the senders that it was captured from."""
    senders: dict[str, set[str]] = defaultdict(set)
    for name in captured():
        for one in sent(name).lifted:
            for kind in _kinds(one.span.attributes):
                senders[kind].add(name.rpartition("/")[2])
    rows = ["| kind of span | captured from |", "|---|---|"]
    rows += [f"| {kind} | {_listed(found)} |" for kind, found in sorted(senders.items())]
    return "\n".join([*rows, *(f"| {kind} | sent by no package that we know |" for kind in _NOT_SENT)])


def _kinds(attributes: Attributes) -> set[str]:
    kinds = {str(attributes.get(names.KIND))} & {*names.KINDS} - {"step"}
    said = {
        "handoff": names.HANDOFF_TO in attributes,
        "workflow": attributes.get(names.OPERATION) == "invoke_workflow"
        or str(attributes.get("traceloop.span.kind")).lower() == "workflow",
        "MCP": names.MCP_METHOD in attributes,
    }
    return kinds | {kind for kind, is_said in said.items() if is_said}


def _listed(found: set[str]) -> str:
    """All of a few; of many, how many."""
    return ", ".join(sorted(found)) if len(found) <= 8 else f"{len(found)} of the senders"


def _context(name: str) -> str:
    if name in NO_CONTEXT:
        return f"none: {NO_CONTEXT[name]}"
    differs = CONTEXT_DIFFERS.get(name)
    return "the same" if differs is None else f"without {differs}"


def _tools(name: str) -> str:
    events = sent(name).events()
    called = [event for event in events if isinstance(event, ToolCalled)]
    if not called:
        return "no spans"
    has_result = any(isinstance(event, ToolCompleted) and event.result is not None for event in events)
    return (
        "yes"
        + ("" if has_result else ", without results")
        + ("" if any(event.call_id for event in called) else ", without the call's id")
    )


def _tokens(name: str) -> str:
    [*_, last] = [run.events for run in sent(name).runs()]
    ends = [event for event in last if event.kind == "llm_completed"]
    usage = getattr(ends[-1], "usage", None) if ends else None
    return "yes" if usage is not None and usage.input_tokens is not None else "no"
