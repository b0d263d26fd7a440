"""Notes and saved views of a real collector: over HTTP, by the client and by the command line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import playhead
from playhead import observe
from playhead.cli import app
from playhead.client import Client
from playhead.errors import BadRequest, Conflict, NotAuthorized, NotFound
from playhead_collector.process import CollectorProcess

KEY = "the operator's"


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    env = {"PLAYHEAD_SEAL_AFTER_SECONDS": "0.2", "PLAYHEAD_ADMIN_KEY": KEY}
    with CollectorProcess(database_url=module_database_url, env=env) as running:
        yield running
        assert "Traceback" not in running.log()


@pytest.fixture
def client(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    playhead.shutdown()
    playhead.configure(endpoint=collector.url, api_key=KEY, journal_dir=tmp_path / "journal", record="always")
    with Client(collector.url, KEY) as client:
        yield client
    playhead.shutdown()


@observe(kind="tool")
def search(query: str) -> str:
    return query


def recorded() -> str:
    """A run with two tool calls; its id."""
    with playhead.run("support") as run:
        search("lamp")
        search("bulb")
    assert run.id is not None
    assert playhead.flush(60)
    return run.id


def test_a_note_is_about_a_run_or_a_moment_and_stays(client: Client):
    run = recorded()
    about = client.add_note(run, "It looks for a lamp.", label="search", at=2, author="ann")
    event = next(event for event in client.events(run) if event["seq"] == 2)
    assert (about["seq"], about["event"], about["turn"]) == (2, event["id"], None)
    assert (about["text"], about["label"], about["author"]) == ("It looks for a lamp.", "search", "ann")
    labelled = client.add_note(run, label="good")
    assert (labelled["seq"], labelled["text"]) == (None, None)
    assert [note["id"] for note in client.notes(run)] == [labelled["id"], about["id"]]
    assert [note["id"] for note in client.notes(run, limit=1)] == [labelled["id"]]
    assert list(client.notes(run)) == [labelled, about]


def test_a_note_that_is_sent_again_is_stored_once(client: Client):
    run = recorded()
    first = client.add_note(run, "once", at="last", id="n1", time="2026-01-01T00:00:00Z")
    assert client.add_note(run, "once", at="last", id="n1", time="2026-01-01T00:00:00Z") == first
    assert first["time"] == "2026-01-01T00:00:00.000000000Z"
    for other in ({"text": "twice", "at": "last"}, {"text": "once"}, {"text": "once", "at": "last", "label": "l"}):
        with pytest.raises(Conflict, match="another note with the id n1"):
            client.add_note(run, id="n1", **other)
    assert len(list(client.notes(run))) == 1


def test_what_says_nothing_or_is_about_nothing_is_refused(client: Client):
    run = recorded()
    with pytest.raises(BadRequest, match="a note says something"):
        client.add_note(run, author="ann")
    with pytest.raises(NotFound, match="no event 99"):
        client.add_note(run, "text", at=99)
    for text in ("", "x" * 10_001, "a\x00b"):
        with pytest.raises(BadRequest):
            client.add_note(run, text)
    with pytest.raises(NotFound, match="no run"):
        client.add_note("f" * 32, "text")
    assert list(client.notes(run)) == []


def test_a_note_is_deleted_alone_and_with_its_run(client: Client):
    run, other = recorded(), recorded()
    kept = client.add_note(other, "kept")
    gone = client.add_note(run, "gone")
    assert client.delete_note(run, gone["id"]) == {"deleted": True}
    assert client.delete_note(run, gone["id"]) == {"deleted": False}
    client.add_note(run, "goes with its run")
    client.delete_run(run)
    with pytest.raises(NotFound):
        list(client.notes(run))
    assert list(client.notes(other)) == [kept]


def test_views_are_kept_by_name(client: Client):
    for name in ("b", "a", "ä"):
        client.save_view(name, f"sort={name}")
    saved = client.save_view("a", "outcome=failed&sort=cost", author="ann")
    assert (saved["query"], saved["author"]) == ("outcome=failed&sort=cost", "ann")
    assert [view["name"] for view in client.views()] == ["a", "b", "ä"]
    assert [view["name"] for view in client.views(limit=2)] == ["a", "b"]
    assert next(client.views()) == saved
    assert client.delete_view("ä") == {"deleted": True}
    assert client.delete_view("ä") == {"deleted": False}
    for name in ("", "a/b", "x" * 101):
        with pytest.raises(BadRequest):
            client.save_view(name, "")


def test_a_key_that_may_only_read_writes_no_note(client: Client, collector: CollectorProcess):
    run = recorded()
    key = client.create_key("reader", ["read"])["key"]
    with Client(collector.url, key) as reader:
        assert list(reader.notes(run)) == []
        with pytest.raises(NotAuthorized):
            reader.add_note(run, "text")
        with pytest.raises(NotAuthorized):
            reader.save_view("view", "")


def test_the_command_line_writes_and_lists_notes(client: Client, collector: CollectorProcess):
    run = recorded()

    def command(*args: str) -> Any:
        env = {"PLAYHEAD_COLLECTOR_URL": collector.url, "PLAYHEAD_API_KEY": KEY}
        return CliRunner().invoke(app, args, env=env)

    written = json.loads(command("note", run, "too slow", "--label", "slow", "--at", "2", "--json").stdout)
    assert written == next(client.notes(run))
    rows = [line.split("\t") for line in command("notes", run).stdout.splitlines()]
    assert rows[0] == ["id", "seq", "turn", "label", "text", "time", "by"]
    assert rows[1][1:5] == ["2", "", "slow", "too slow"]
    assert command("note", run).exit_code == 2
