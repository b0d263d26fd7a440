"""Commands that are made of declared operations: arguments, options, their bounds and their help."""

from contextlib import contextmanager
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from playhead.cli import derived
from playhead.cli.connection import CollectorAddress
from playhead.wire.operations.declared import DeclaredOperations
from playhead.wire.operations.operation import DeclaredOperation


class Recorder:
    """A client that keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        def ask(**arguments: Any) -> Any:
            self.asked.append((name, arguments))
            return [{"run": "a"}, {"run": "b"}] if "limit" in arguments and name == "runs" else {"seq": 7}

        return ask


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()

    @contextmanager
    def ask(_: CollectorAddress) -> Any:
        yield recorder

    monkeypatch.setattr(CollectorAddress, "ask", ask)
    return recorder


def run(operation: DeclaredOperation, *arguments: str, **more: Any) -> Any:
    app = typer.Typer()
    app.command()(derived.derived_command(operation, **more))
    # A context's object is made by the application's callback.
    return CliRunner().invoke(app, arguments, obj=CollectorAddress(None, None))


def test_what_is_in_the_path_is_an_argument_and_the_rest_are_options(client: Recorder):
    result = run(DeclaredOperations.state, "last", "--at", "turn:2", "--hydrate")
    assert result.exit_code == 0, result.output
    assert client.asked == [("state", {"run": "last", "at": "turn:2", "hydrate": True})]
    assert '"seq": 7' in result.output


def test_a_list_asks_for_one_item_more_than_it_shows(client: Recorder):
    shown: list[Any] = []
    result = run(DeclaredOperations.runs, "--agent", "a", "--limit", "1", show=shown.append)
    assert result.exit_code == 0, result.output
    assert client.asked == [("runs", {"sort": "started", "ascending": False, "agent": "a", "limit": 2})]
    assert shown == [[{"run": "a"}]]


def test_an_option_has_the_name_and_the_bounds_of_the_wire(client: Recorder):
    assert run(DeclaredOperations.suspects, "last", "--sibling", "a", "--sibling", "b").exit_code == 0
    assert client.asked[0][1]["siblings"] == ["a", "b"]
    refused = run(DeclaredOperations.suspects, "last", "--limit", "0")
    assert refused.exit_code == 2
    assert "than or equal to 1" in refused.output


def test_times_may_be_times_ago(client: Recorder):
    assert run(DeclaredOperations.runs, "--since", "2026-01-31").exit_code == 0
    assert client.asked[0][1]["since"] == "2026-01-31"
    assert type(run(DeclaredOperations.runs, "--since", "yesterday").exception).__name__ == "SettingInvalid"


def test_the_help_is_that_of_the_declaration():
    described = " ".join(run(DeclaredOperations.runs, "--help").output.replace("│", " ").split())
    assert "Only runs of this session" in described
    assert "List runs, newest first" in described
    assert "{run}" in run(DeclaredOperations.state, "--help").output
