"""Recognises spans that are a handoff from one agent to another, and sets `playhead.handoff.to` on them.

| sender | span |
|---|---|
| OpenLLMetry | `gen_ai.operation.name` is `handoff`; the target may be missing |
| OpenInference | a tool named `handoff to NAME` |
| Logfire | the message template `Handoff: {from_agent} → {to_agent}` |
| Google ADK, Strands, LlamaIndex | a call of the tool that the framework itself offers for it |

Frameworks that offer one tool for each agent (`transfer_to_tailor`) cannot be told from other tools by its name.
"""

from typing import Any, Final, cast

from playhead.lift.stamps import parsed
from playhead.model import names
from playhead.model.span import Attributes

# The tools of frameworks, and which argument names the target.
_TOOLS: Final = {
    "transfer_to_agent": "agent_name",  # Google ADK
    "handoff_to_agent": "agent_name",  # Strands
    "handoff": "to_agent",  # LlamaIndex
}
_ARGUMENTS: Final = (names.TOOL_ARGUMENTS, "input.value", "traceloop.entity.input", "gcp.vertex.agent.tool_call_args")
_TOOL_SPAN: Final = "handoff to "
_TEMPLATE: Final = "Handoff: "
_MOST_CHARACTERS: Final = 256  # of an agent's name


def note_handoff(name: str, given: Attributes, lifted: Attributes) -> None:
    """Marks a span in place when it is a handoff. The target is empty where the span does not name it.

    `name`: of the span; `given`: its attributes as they came; `lifted`: as they will be stored.
    """
    if given.get(names.OPERATION) == "handoff":
        _mark(lifted, given.get("gen_ai.handoff.to_agent"))
    elif name.startswith(_TOOL_SPAN) and given.get("openinference.span.kind") == "TOOL":
        _mark(lifted, name.removeprefix(_TOOL_SPAN))
    elif str(given.get("logfire.msg_template", "")).startswith(_TEMPLATE):
        _mark(lifted, given.get("to_agent"))
    elif lifted.get(names.KIND) == "tool" and (key := _TOOLS.get(str(lifted.get(names.TOOL_NAME)))) is not None:
        target = _argument(given, key)
        if target:
            lifted[names.HANDOFF_TO] = target[:_MOST_CHARACTERS]


def _mark(lifted: Attributes, target: Any) -> None:
    lifted[names.HANDOFF_TO] = target[:_MOST_CHARACTERS] if isinstance(target, str) and target != "unknown" else ""
    lifted[names.KIND] = "step"


def _argument(given: Attributes, key: str) -> str | None:
    """The value of a tool's argument; None when it cannot be read."""
    for name in _ARGUMENTS:
        try:
            value = parsed(given.get(name))
        except ValueError:
            continue
        if isinstance(value, dict):
            target = cast(dict[str, Any], value).get(key)
            if isinstance(target, str):
                return target
    return None
