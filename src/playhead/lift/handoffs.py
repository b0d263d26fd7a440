"""Marks handoffs between agents in spans that frameworks write for them."""

from typing import Final

from playhead.lift.extraction import json_or_text
from playhead.model import names
from playhead.model.json_value import JsonValue
from playhead.model.span import Attributes

# Handoff tools of frameworks → the argument that names the target.
_HANDOFF_TOOLS: Final = {
    "transfer_to_agent": "agent_name",  # Google ADK
    "handoff_to_agent": "agent_name",  # Strands
    "handoff": "to_agent",  # LlamaIndex
}
_ARGUMENT_NAMES: Final = (
    names.TOOL_ARGUMENTS,
    "input.value",
    "traceloop.entity.input",
    "gcp.vertex.agent.tool_call_args",
)

_HANDOFF_SPAN: Final = "handoff to "
_HANDOFF_TEMPLATE: Final = "Handoff: "
_MOST_NAME_CHARACTERS: Final = 256  # of an agent's name


def note_handoff(name: str, original: Attributes, lifted: Attributes) -> None:
    """Marks a span in place if it is a handoff (`playhead.handoff.to`). The target is empty if the span does not name
    it.

    | sender | span |
    |---|---|
    | OpenLLMetry | `gen_ai.operation.name` is `handoff`; the target may be missing |
    | OpenInference | a tool named `handoff to NAME` |
    | Logfire | the message template `Handoff: {from_agent} → {to_agent}` |
    | Google ADK, Strands, LlamaIndex | a call of the framework's own handoff tool |

    Handoffs of frameworks with one tool per agent (`transfer_to_tailor`) are not recognised: nothing in such a tool's
    name distinguishes it from other tools.

    `name`: name of the span; `original`: its attributes as received; `lifted`: its attributes as stored, which are
    changed.
    """
    if original.get(names.OPERATION) == "handoff":
        _mark_handoff(lifted, original.get("gen_ai.handoff.to_agent"))
    elif name.startswith(_HANDOFF_SPAN) and original.get("openinference.span.kind") == "TOOL":
        _mark_handoff(lifted, name.removeprefix(_HANDOFF_SPAN))
    elif str(original.get("logfire.msg_template", "")).startswith(_HANDOFF_TEMPLATE):
        _mark_handoff(lifted, original.get("to_agent"))
    elif lifted.get(names.KIND) == "tool" and (key := _HANDOFF_TOOLS.get(str(lifted.get(names.TOOL_NAME)))) is not None:
        target = _tool_argument(original, key)
        if target:
            lifted[names.HANDOFF_TO] = target[:_MOST_NAME_CHARACTERS]


def _mark_handoff(lifted: Attributes, target: JsonValue) -> None:
    lifted[names.HANDOFF_TO] = target[:_MOST_NAME_CHARACTERS] if isinstance(target, str) and target != "unknown" else ""
    lifted[names.KIND] = "step"


def _tool_argument(original: Attributes, key: str) -> str | None:
    """Returns the value of a tool's argument; None if it cannot be read."""
    for name in _ARGUMENT_NAMES:
        try:
            value = json_or_text(original.get(name))
        except ValueError:
            continue
        if isinstance(value, dict):
            target = value.get(key)
            if isinstance(target, str):
                return target
    return None
