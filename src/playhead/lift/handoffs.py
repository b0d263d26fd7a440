"""Recognises spans that are a handoff from one agent to another, and sets `playhead.handoff.to` on them.

| sender | span |
|---|---|
| OpenLLMetry | `gen_ai.operation.name` is `handoff`; the target may be missing |
| OpenInference | a tool named `handoff to NAME` |
| Logfire | the message template `Handoff: {from_agent} → {to_agent}` |
| Google ADK, Strands, LlamaIndex | a call of the framework's own handoff tool |

Handoffs of frameworks with one tool per agent (`transfer_to_tailor`) are not recognised: nothing in such a tool's name
distinguishes it from other tools.
"""

from typing import Any, Final, cast

from playhead.lift.stamps import parsed
from playhead.model import names
from playhead.model.span import Attributes

# Handoff tools of frameworks → the argument that names the target.
_TOOLS: Final = {
    "transfer_to_agent": "agent_name",  # Google ADK
    "handoff_to_agent": "agent_name",  # Strands
    "handoff": "to_agent",  # LlamaIndex
}
_ARGUMENTS: Final = (names.TOOL_ARGUMENTS, "input.value", "traceloop.entity.input", "gcp.vertex.agent.tool_call_args")
_TOOL_SPAN: Final = "handoff to "
_TEMPLATE: Final = "Handoff: "
_MOST_CHARACTERS: Final = 256  # of an agent's name


def note_handoff(name: str, original: Attributes, lifted: Attributes) -> None:
    """Marks a span in place if it is a handoff. The target is empty if the span does not name it.

    `name`: name of the span; `original`: its attributes as received; `lifted`: its attributes as stored, which are
    changed.
    """
    if original.get(names.OPERATION) == "handoff":
        _mark(lifted, original.get("gen_ai.handoff.to_agent"))
    elif name.startswith(_TOOL_SPAN) and original.get("openinference.span.kind") == "TOOL":
        _mark(lifted, name.removeprefix(_TOOL_SPAN))
    elif str(original.get("logfire.msg_template", "")).startswith(_TEMPLATE):
        _mark(lifted, original.get("to_agent"))
    elif lifted.get(names.KIND) == "tool" and (key := _TOOLS.get(str(lifted.get(names.TOOL_NAME)))) is not None:
        target = _argument(original, key)
        if target:
            lifted[names.HANDOFF_TO] = target[:_MOST_CHARACTERS]


def _mark(lifted: Attributes, target: Any) -> None:
    lifted[names.HANDOFF_TO] = target[:_MOST_CHARACTERS] if isinstance(target, str) and target != "unknown" else ""
    lifted[names.KIND] = "step"


def _argument(original: Attributes, key: str) -> str | None:
    """Returns the value of a tool's argument; None if it cannot be read."""
    for name in _ARGUMENTS:
        try:
            value = parsed(original.get(name))
        except ValueError:
            continue
        if isinstance(value, dict):
            target = cast(dict[str, Any], value).get(key)
            if isinstance(target, str):
                return target
    return None
