"""Every agent of a framework is an agent of the run: its span, its name on what it did, who handed over to whom.

Killed while each of its agents waits for the model, and resumed, a run repeats no call and no effect.  All steps of all
variants with PLAYHEAD_EVERY_STEP=1.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from playhead.model import event as ev
from playhead.model import names
from playhead.testing import MockModelServer, contains, pytest_plugin, text, tool_call, tool_calls, tool_result_received
from playhead.testing.answers import Answer
from playhead.testing.rules import Rule
from tests.support.programs.framework_runs import Agent
from tests.support.projected import projected

server = pytest_plugin.mock_model_server
ASK_TWICE = tool_calls(tool_call("ask_expert", {"input": "A1"}), tool_call("ask_expert", {"input": "B2"}))
ASK_ORDERS = tool_calls(tool_call("ask_expert", {"order": "A1"}), tool_call("ask_expert", {"order": "B2"}))
EXPERT: list[tuple[Rule, Any]] = [
    (contains("EXPERT") & contains("A1"), text("A1 is late")),
    (contains("EXPERT") & contains("B2"), text("B2 is lost")),
]


class Team(Agent):
    """A program with several agents, and what the model says to each."""

    says: list[tuple[Rule, Answer]]

    def script(self) -> None:
        for rule, answer in self.says:
            self.server.when(rule, answer)


def openai_agents(of: Team) -> None:
    of.says = [
        (contains("GUARD"), text("fine")),
        (contains("TRIAGE"), tool_call("transfer_to_billing", {})),
        *EXPERT,
        (contains("BILLING") & ~tool_result_received("ask_expert"), ASK_TWICE),
        (contains("BILLING") & ~tool_result_received("refund"), tool_call("refund", {"order": "A1"})),
        (contains("BILLING"), text("All done.")),
    ]


def langgraph(of: Team) -> None:
    of.says = [
        (contains("SUPERVISOR"), tool_call("hand_over", {})),
        (contains("RESEARCHER") & ~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"})),
        (contains("RESEARCHER"), text("A1 is delayed.")),
        (contains("CRITIC"), text("All done.")),
        (contains("CHECKER"), text("All done.")),
    ]


def pydantic_ai(of: Team) -> None:
    of.says = [
        *EXPERT,
        (contains("DESK") & ~tool_result_received("ask_expert"), ASK_ORDERS),
        (contains("DESK") & ~tool_result_received("refund"), tool_call("refund", {"order": "A1"})),
        (contains("DESK"), text("All done.")),
    ]


# Of each program: what agents it has, each below the one around it, and who asks the model, in order.
TEAMS: dict[str, tuple[Any, list[str], list[str], list[tuple[str, str]], list[str]]] = {
    "openai_agents": (
        openai_agents,
        ["triage", "triage/billing", "triage/billing/expert", "triage/billing/expert", "triage/guard"],
        ["guard", "triage", "billing", "expert", "expert", "billing", "billing"],
        [("triage", "billing")],
        ["refund A1"],
    ),
    "langgraph": (
        langgraph,
        ["team", "team/checker", "team/critic", "team/researcher", "team/supervisor"],
        ["supervisor", "researcher", "researcher", "checker", "critic"],
        [("supervisor", "researcher")],
        ["look_up A1"],
    ),
    "pydantic_ai": (
        pydantic_ai,
        ["desk", "desk/expert", "desk/expert"],
        ["desk", "expert", "expert", "desk", "desk"],
        [],
        ["refund A1"],
    ),
}
EVERY_STEP = bool(os.environ.get("PLAYHEAD_EVERY_STEP"))


def team(name: str, variant: str, tmp_path: Path, server: MockModelServer) -> Team:
    of = Team(Path(__file__).with_name(f"framework_{name}_several.py"), variant, tmp_path, server)
    TEAMS[name][0](of)
    return of


def paths_of_agents(of: Team) -> list[str]:
    """The agents of the run, each with those around it."""
    spans = {span.span_id: span for span in (*of.recorded().announced, *of.recorded().spans)}

    def path(span_id: str | None) -> list[str]:
        span = spans.get(str(span_id))
        if span is None:
            return []
        return [
            *path(span.parent_id),
            *([span.attributes[names.AGENT_NAME]] if names.AGENT_NAME in span.attributes else []),
        ]

    return sorted("/".join(path(span.span_id)) for span in spans.values() if span.attributes[names.KIND] == "agent")


def assert_is_told_by_agent(name: str, variant: str, of: Team) -> None:
    _, agents, asking, handoffs, effects = TEAMS[name]
    entry = [] if "alone" in variant else ["entry"]
    assert paths_of_agents(of) == sorted(["/".join([*entry, path]) for path in agents] + entry)
    told = projected(of.recorded(), of.run_id())
    assert told.row.status == "completed"
    assert told.row.spans_missing == 0
    assert told.row.errors == 0
    called = [str(event.actor) for event in told.events if isinstance(event, ev.LlmCalled)]
    assert sorted(called) == sorted(asking)  # two at once come in any order
    assert list(dict.fromkeys(called))[:2] == list(dict.fromkeys(asking))[:2]
    assert [(event.actor, event.to) for event in told.events if isinstance(event, ev.AgentHandoff)] == handoffs
    assert of.effects() == effects


WAYS = [("openai_agents", "streamed"), ("pydantic_ai", "observed")]
MORE = [
    ("openai_agents", "alone"), ("openai_agents", "alone, streamed"), ("openai_agents", "observed"),
    ("langgraph", "observed"), ("langgraph", "alone"), ("langgraph", "streamed"), ("langgraph", "alone, streamed"),
    ("pydantic_ai", "alone"), ("pydantic_ai", "streamed"),
]  # fmt: skip


@pytest.mark.covers("agents", "spans")
@pytest.mark.covers("langgraph", "spans")
@pytest.mark.covers("pydantic_ai", "spans")
@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant"), WAYS + (MORE if EVERY_STEP else []))
def test_every_agent_is_an_agent_of_the_run(server: MockModelServer, tmp_path: Path, name: str, variant: str):
    of = team(name, variant, tmp_path, server)
    of.script()
    code, answer, errors = of.run()
    assert (code, answer) == (0, "All done."), errors
    assert "could not" not in errors
    assert_is_told_by_agent(name, variant, of)


KILLED_AT = [("openai_agents", "alone", 4), ("langgraph", "observed", 3), ("pydantic_ai", "alone", 5)]
STEPS = {"openai_agents": 7, "langgraph": 5, "pydantic_ai": 5}
# The requests that are open at a time: neither may have been answered when the process died.
AT_ONCE = {"openai_agents": (4, 5), "langgraph": (4, 5), "pydantic_ai": (2, 3)}


@pytest.mark.covers("agents", "resume")
@pytest.mark.covers("langgraph", "resume")
@pytest.mark.covers("pydantic_ai", "resume")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "variant", "step"),
    [(name, variant, n) for name, variant in (*WAYS, *MORE) for n in range(1, STEPS[name] + 1)]
    if EVERY_STEP
    else KILLED_AT,
)
def test_a_killed_run_of_several_agents_goes_on_where_it_was(
    server: MockModelServer, tmp_path: Path, name: str, variant: str, step: int
):
    of = team(name, variant, tmp_path, server)
    of.run_until_asked(step)
    # A tool of pydantic-ai is the program's own function, whatever it does: whether to run it again is a question.
    in_doubt = name == "pydantic_ai" and step in AT_ONCE[name]
    code, answer, errors = of.resume(**({"in_doubt": "rerun"} if in_doubt else {}))
    assert (code, answer) == (0, "All done."), errors
    assert "live from here" not in errors
    assert len(server.requests) <= STEPS[name] + (2 if step in AT_ONCE[name] else 1)
    assert_is_told_by_agent(name, variant, of)
