"""`playhead conversations` and `playhead conversation`, of a collector and of the journal's folder."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import playhead
from playhead.cli import app
from playhead.conversations.langgraph import PlayheadStore
from playhead_collector.process import CollectorProcess
from tests.integration.export.fake_collector import closed_port

Machine = Callable[..., None]


@pytest.fixture
def command(collector: CollectorProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "one"))

    def run(*arguments: str) -> Any:
        done = CliRunner().invoke(app, ["--url", collector.url, *arguments, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    return run


def test_both_places_are_listed_shown_and_deleted(
    machine: Machine, command: Callable[..., Any], collector: CollectorProcess
):
    scope = uuid.uuid4().hex[:8]
    stored = playhead.conversation("stored", scope=scope)
    stored.append("user", "Hello")
    stored.save()
    machine("one", reaches=False)
    pending = playhead.conversation("pending", scope=scope)
    pending.append("user", "Hello here")
    pending.save()
    listed = command("conversations", "--scope", scope)
    assert [row["id"] for row in listed] == ["pending", "stored"]
    shown = command("conversation", "stored", "--scope", scope)
    assert (shown["revision"], shown["messages"]) == (1, 1)
    assert shown["thread"][0]["parts"][0]["content"] == "Hello"
    assert command("conversation", "pending", "--scope", scope)["thread"][0]["parts"][0]["content"] == "Hello here"
    text = CliRunner().invoke(app, ["--url", collector.url, "conversation", "stored", "--scope", scope]).stdout
    assert "\n1 user\nHello\n" in text
    for name in ("stored", "pending"):
        assert command("conversation", name, "--scope", scope, "--delete") == {"deleted": True}
    assert command("conversations", "--scope", scope) == []


def test_what_follows_messages_at_the_collector_has_their_numbers_and_outlives_a_deletion_that_fails(
    machine: Machine, command: Callable[..., Any], collector: CollectorProcess
):
    scope = uuid.uuid4().hex[:8]
    conv = playhead.conversation("chat", scope=scope)
    conv.append("user", "one")
    conv.append("assistant", "two")
    conv.save()
    conv = playhead.conversation("chat", scope=scope)  # reads no message
    machine("one", reaches=False)
    conv.append("user", "three")
    conv.save()
    named = ["conversation", "chat", "--scope", scope]
    text = CliRunner().invoke(app, ["--url", collector.url, *named]).stdout
    assert "2 messages before these: only at the collector, not shown" in text
    assert "\n3 user\nthree\n" in text
    with closed_port() as closed:
        failed = CliRunner().invoke(app, ["--url", f"http://127.0.0.1:{closed}", *named, "--delete"])
    assert failed.exit_code != 0
    assert command(*named)["thread"][0]["parts"][0]["content"] == "three"
    assert command(*named, "--delete") == {"deleted": True}
    assert command("conversations", "--scope", scope) == []


def test_what_is_kept_as_records_is_shown_without_messages(machine: Machine, command: Callable[..., Any]):
    store = PlayheadStore(scope=uuid.uuid4().hex)
    store.put(("users",), "7", {"n": 1})
    shown = command("conversation", "langgraph-store/users/", "--scope", store.scope)
    assert (shown["messages"], shown["thread"]) == (1, [])


def test_ship_brings_what_is_pending(
    machine: Machine, command: Callable[..., Any], collector: CollectorProcess, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PLAYHEAD_ENDPOINT", collector.url)
    scope = uuid.uuid4().hex[:8]
    machine("one", reaches=False)
    pending = playhead.conversation("pending", scope=scope)
    pending.append("user", "Hello here")
    pending.save()
    assert command("ship")["left"] == 0
    machine("two")
    there = playhead.conversation("pending", scope=scope)
    assert (there.messages, there.is_pending) == ([{"role": "user", "content": "Hello here"}], False)
