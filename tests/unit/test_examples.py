"""Every file in examples/ runs as it stands: with no key, no network, and no collector."""

from pathlib import Path

import pytest

from playhead.demo.support import load_example
from playhead.model import names
from playhead.testing import scenarios
from tests.support.journal_reader import Journaled, kind, read_journal
from tests.support.programs.examples import ROOT, run_example

# Those in examples/frameworks need an environment of their own: tests/frameworks runs them.
EXAMPLES = sorted(path for folder in ("", "scenarios", "agents") for path in (ROOT / "examples" / folder).glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_with_nothing_set_up(path: Path, tmp_path: Path) -> None:
    done = run_example(path, tmp_path, warnings="error")
    assert done.code == 0, done.errors
    assert done.out.strip()
    assert "Traceback" not in done.errors


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Journaled:
    journal = tmp_path_factory.mktemp("journal")
    done = run_example(ROOT / "examples" / "support_agent.py", journal)
    assert done.code == 0, done.errors
    return read_journal(journal)


def test_the_support_agent_calls_tools_at_once_and_streams_its_reply(recorded: Journaled) -> None:
    calls = recorded.calls("gpt-4o-mini")
    assert len(calls) == 5
    assert [call.attributes.get(names.REQUEST_STREAM, False) for call in calls] == [False, False, False, False, True]
    first = recorded.messages(calls[0].attributes[names.OUTPUT_MESSAGES_REF])[0]
    asked = [part["name"] for part in first["parts"] if part["type"] == "tool_call"]
    assert asked == ["look_up_order", "track_parcel"]


def test_a_tool_of_the_support_agent_fails_and_the_agent_goes_on(recorded: Journaled) -> None:
    refunds = recorded.calls("refund")
    assert [span.attributes.get(names.ERROR_TYPE) for span in refunds] == ["ValueError", None]
    assert recorded.value(refunds[1], names.TOOL_RESULT_REF) == {"order": "A1001", "refunded": 89.0}


def test_every_call_of_the_support_agent_belongs_to_one_run(recorded: Journaled) -> None:
    assert len({span.attributes[names.RUN_ID] for span in recorded.spans}) == 1
    assert sorted(map(kind, recorded.spans)) == ["agent", "agent", *["llm"] * 5, *["tool"] * 4]


def test_the_support_agent_does_the_same_when_nothing_is_recorded(tmp_path: Path) -> None:
    path = ROOT / "examples" / "support_agent.py"
    seen = run_example(path, tmp_path)
    unseen = run_example(path, tmp_path / "off", OTEL_SDK_DISABLED="true")
    assert unseen.code == 0, unseen.errors
    assert unseen.out == seen.out
    assert not (tmp_path / "off").exists()


def test_the_support_agent_talks_to_the_endpoint_that_the_environment_names(tmp_path: Path) -> None:
    with load_example().scripted_model() as server:
        env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        done = run_example(ROOT / "examples" / "support_agent.py", tmp_path, **env)
    assert done.code == 0, done.errors
    assert len(server.requests) == 5


def test_there_is_an_example_agent_for_every_scenario_of_the_mock_model_server() -> None:
    assert sorted(path.stem for path in (ROOT / "examples" / "scenarios").glob("*.py")) == sorted(scenarios.NAMES)


def recorded_example(name: str, journal: Path) -> Journaled:
    done = run_example(ROOT / "examples" / f"{name}.py", journal)
    assert done.code == 0, done.errors
    return read_journal(journal)


def test_tools_that_are_methods_of_an_observed_class_are_the_calls_that_the_model_asked_for(tmp_path: Path) -> None:
    seen = recorded_example("weather_agent", tmp_path)
    asked: list[str] = []
    for call in seen.calls("gpt-4o-mini"):
        for message in seen.messages(call.attributes[names.OUTPUT_MESSAGES_REF])[-1:]:
            asked += [part["id"] for part in message["parts"] if part["type"] == "tool_call"]
    tools = [*seen.calls("Tools.get_weather"), *seen.calls("Tools.convert")]
    assert [tool.attributes[names.TOOL_CALL_ID] for tool in tools] == asked
    assert len(asked) == 3


def test_the_code_editor_edits_what_it_was_allowed_to_and_its_turns_are_one_run(tmp_path: Path) -> None:
    seen = recorded_example("code_editing_agent", tmp_path)
    tools = [span.name.rpartition(".")[2] for span in seen.spans if kind(span) == "tool"]
    assert tools == ["search_files", "read_file", "edit_file", "run_tests"]
    assert seen.output("FileTools.run_tests") == "1 test passed"
    assert len(seen.calls("code_editor")) == 4  # the run and its three turns
    assert len({span.attributes[names.RUN_ID] for span in seen.spans}) == 1


def test_reviewers_run_side_by_side_inside_the_review(tmp_path: Path) -> None:
    seen = recorded_example("scenarios/parallel_review", tmp_path)
    reviewers, review = seen.calls("reviewer"), seen.call("review")
    assert [reviewer.parent_id for reviewer in reviewers] == [review.span_id] * 3
    assert max(one.start_ns for one in reviewers) < min(one.end_ns or 0 for one in reviewers)
