"""Notes at a collector: found from another machine, kept over its outages, merged by name, never silently replaced."""

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.context import TitledNote
from playhead.conversations.kept_notes import KeptNotes
from playhead.wire.operations.conversations import NOTES_ID
from playhead_collector.process import CollectorProcess

Machine = Callable[..., None]

WRITER = """
import sys, playhead
from tests.support import patience
patience.wait_for_collector()
notes = playhead.notes(sys.argv[1])
for number in range(10):
    notes.put("job", f"{sys.argv[2]}-{number}", title=f"job {number}")
    notes.put("job", "both", title="both", aliases=[f"{sys.argv[2]}-{number}"])
"""


@pytest.fixture
def scope() -> str:
    return f"user {uuid.uuid4().hex[:12]}"


def waiting(folder: Path) -> int:
    return len([*(folder / "notes").glob("*.json")])


def titles(scope: str) -> list[str]:
    return [note.title for note in playhead.notes(scope).all()]


def test_notes_are_found_from_another_machine(machine: Machine, scope: str, tmp_path: Path):
    notes = playhead.notes(scope)
    long = "What is known. " * 1_000  # a part that is stored apart
    notes.put("workflow", "wf-1", title="Daily report", aliases=["mine"], text=long)
    notes.put("workflow", "wf-2", title="Weekly report")
    machine("two")
    there = playhead.notes(scope)
    assert there.find("mine")[0].note == TitledNote("workflow", "wf-1", "Daily report", ("mine",), long)
    there.put("workflow", "wf-1", title="Daily task report")
    there.remove("workflow", "wf-2")
    machine("one")
    assert notes.all() == [TitledNote("workflow", "wf-1", "Daily task report", ("mine",), "")]
    assert waiting(tmp_path / "one") == waiting(tmp_path / "two") == 0
    assert scope not in [head.scope for head in playhead.list_conversations()]


@pytest.mark.parametrize("scope", ["", "x" * 600, "odd \0 \ud800"])
def test_any_scope_is_kept(machine: Machine, scope: str):
    name = uuid.uuid4().hex
    playhead.notes(scope).put("job", name, title="t")
    machine("two")
    assert playhead.notes(scope).find(name)[0].id == name


def test_an_outage_is_waited_out_in_the_folder(machine: Machine, scope: str, tmp_path: Path):
    notes = playhead.notes(scope)
    notes.put("job", "1", title="before")
    machine("one", reaches=False)
    notes.put("job", "2", title="during")
    assert waiting(tmp_path / "one") == 1
    assert "during" in titles(scope)
    machine("one")
    assert titles(scope) == ["before", "during"]
    assert waiting(tmp_path / "one") == 0


def test_flush_brings_them(machine: Machine, scope: str, tmp_path: Path):
    machine("one", reaches=False)
    playhead.notes(scope).put("job", "1", title="kept here")
    machine("one")
    playhead.notes("another").all()
    assert playhead.flush(60)
    assert waiting(tmp_path / "one") == 0
    machine("two")
    assert titles(scope) == ["kept here"]


class Link:
    """The way of one machine to the collector, which may be cut."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_up = True

    def __call__(self, question: Callable[[playhead.Client], Any]) -> Any:
        if not self.is_up:
            return None
        with playhead.Client(self.url) as client:
            return question(client)


def put(kept: KeptNotes, scope: str, name: str, title: str) -> None:
    note: Any = {"kind": "job", "id": name, "title": title, "aliases": [], "text": ""}
    kept.change(scope, lambda notes: [*(each for each in notes if each["id"] != name), note])


def test_two_machines_over_an_outage_lose_nothing_and_replace_nothing(
    machine: Machine, collector: CollectorProcess, scope: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    link = Link(collector.url)
    one, two = KeptNotes(tmp_path / "one", link), KeptNotes(tmp_path / "two", Link(collector.url))
    for number in range(3):
        put(one, scope, str(number), f"job {number}")
    link.is_up = False
    put(one, scope, "0", "from one")
    one.change(scope, lambda notes: [each for each in notes if each["id"] != "1"])
    put(one, scope, "3", "new of one")
    assert [note["title"] for note in one.read(scope)] == ["job 2", "from one", "new of one"]
    put(two, scope, "0", "from two")
    put(two, scope, "2", "of two alone")
    link.is_up = True
    assert one.deliver()
    everywhere = ["from two", "of two alone", "from one", "new of one"]
    assert [note["title"] for note in two.read(scope)] == [note["title"] for note in one.read(scope)] == everywhere
    assert "both versions are kept, also of job 0" in caplog.text
    assert len(playhead.notes(scope).find("from")) == 2


def test_a_process_that_has_read_nothing_before_the_outage_replaces_nothing(machine: Machine, scope: str):
    playhead.notes(scope).put("job", "0", title="before")
    machine("two", reaches=False)
    playhead.notes(scope).put("job", "0", title="during")
    machine("two")
    assert sorted(titles(scope)) == ["before", "during"]


def test_processes_of_two_machines_that_write_at_once_lose_nothing(
    machine: Machine, collector: CollectorProcess, scope: str, tmp_path: Path
):
    def writer(name: str, folder: str) -> Any:
        env = {**os.environ, "PLAYHEAD_JOURNAL_DIR": str(tmp_path / folder), "PLAYHEAD_ENDPOINT": collector.url}
        return subprocess.Popen([sys.executable, "-c", WRITER, scope, name], env=env)

    writers = [writer("a", "x"), writer("b", "x"), writer("c", "y")]
    assert [each.wait(120) for each in writers] == [0, 0, 0]
    stored = {note.id: note for note in playhead.notes(scope).all()}
    jobs = {f"{name}-{number}" for name in "abc" for number in range(10)}
    assert set(stored) == jobs | {"both"}
    assert set(stored["both"].aliases) == jobs


def test_what_a_hook_redacts_is_stored_nowhere(machine: Machine, scope: str, tmp_path: Path):
    def hook(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("secret", "[redacted]"))

    machine("one", redact=hook)
    stored = playhead.notes(scope).put("job", "1", title="t", text="a secret")
    assert stored.text == "a [redacted]"
    machine("two")
    assert playhead.notes(scope).all()[0].text == "a [redacted]"
    machine("one", reaches=False, redact=hook)
    playhead.notes(scope).put("job", "2", title="t", text="a secret")
    [path] = (tmp_path / "one" / "notes").glob("*.json")
    assert b"secret" not in path.read_bytes().replace(b"[redacted]", b"")


def test_with_coroutines(machine: Machine, scope: str):
    async def main() -> None:
        notes = playhead.notes(scope)
        await notes.put_async("job", "1", title="first")
        assert [match.id for match in await notes.find_async("first")] == ["1"]
        assert await notes.render_async() == "- job 1: first"
        assert len(await notes.all_async()) == 1
        assert await notes.remove_async("job", "1")

    asyncio.run(main())
    assert titles(scope) == []


def test_what_is_removed_is_freed_with_the_scope(machine: Machine, scope: str, collector: CollectorProcess):
    playhead.notes(scope).put("job", "1", title="t")
    with playhead.Client(collector.url) as client:
        assert client.conversation(NOTES_ID, scope=scope)["messages"] == 1
        assert client.delete_conversation(NOTES_ID, scope=scope)["deleted"]
    assert titles(scope) == []
    playhead.notes(scope).put("job", "2", title="anew")
    assert titles(scope) == ["anew"]
