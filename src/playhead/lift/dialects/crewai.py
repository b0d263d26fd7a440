"""CrewAI in the attributes of OpenInference (`crew_*`) and OpenLLMetry (`crewai.*`): input and output of crews, tasks
and agents.

Both also write OpenInference's or OpenTelemetry's names. OpenLLMetry also calls crews and tasks agents, and its span of
a task has the task's description, which is content, as its name.
"""

from collections.abc import Mapping
from typing import Final

from playhead.lift.extraction import ExtractedContent, extract_value
from playhead.model import names
from playhead.model.span import Attributes

NAME = "crewai"
PREFIXES = frozenset({
    "crewai", "crew_key", "crew_agents", "crew_tasks", "crew_inputs", "formatted_description",
    "formatted_expected_output",
})  # fmt: skip
ALIASES: Mapping[str, str] = {"crewai.agent.role": names.AGENT_NAME}
_CREW, _TASK, _DESCRIPTION = "crewai.crew.id", "crewai.task.id", "crewai.task.description"
_CONTENTS: Final[Mapping[str, str]] = {
    "crew_inputs": names.INPUT_REF,
    "crewai.crew.result": names.OUTPUT_REF,
    _DESCRIPTION: names.INPUT_REF,
    **{
        key: key + names.REF_SUFFIX
        for key in (
            "crew_agents", "crew_tasks", "formatted_description", "formatted_expected_output", "crewai.crew.agents",
            "crewai.crew.tasks", "crewai.crew.tasks_output", "crewai.task.context", "crewai.task.expected_output",
            "crewai.task.output", "crewai.task.tools", "crewai.agent.backstory", "crewai.agent.goal",
            "crewai.agent.tools",
        )
    },
}  # fmt: skip


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by any of its names."""
    return any(key in attributes for key in ("crew_key", _CREW, _TASK, "crewai.agent.role", *_CONTENTS))


def kind(attributes: Attributes) -> str | None:
    """Returns `step` for crews and tasks of OpenLLMetry; None for other spans, whose kind other dialects know."""
    return "step" if _CREW in attributes or _TASK in attributes else None


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves each value to a ref, under our name for it or its own name."""
    for key, ours in _CONTENTS.items():
        value = attributes.pop(key, None)
        if value not in (None, ""):
            extract_value(attributes, ours, value, key, contents)
    agent = attributes.get("graph.node.id")
    if kind == "agent" and isinstance(agent, str):
        attributes.setdefault(names.AGENT_NAME, agent)


def name_without_content(name: str, attributes: Attributes) -> str:
    """Returns the name of a span; for a task, without its description."""
    description = attributes.get(_DESCRIPTION)
    if isinstance(description, str) and description and name.startswith(description):
        return "crewai" + (name.removeprefix(description) or ".task")
    return name
