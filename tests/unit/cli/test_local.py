"""Commands that read the journal of this machine: with --local, and by themselves without a collector."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from playhead.cli import app
from playhead.model.message import text_message
from tests.integration.read.recorded import Recorder, conversation
from tests.support.readers.journaled import write_journal

RUN, OTHER = "01" * 16, "02" * 16
Command = Callable[..., Result]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return write_journal(tmp_path, [conversation(RUN, 2).batch(), conversation(OTHER, 1).batch()])


@pytest.fixture
def playhead(journal: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command, where nothing answers at the collector's address, which was not given."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("PLAYHEAD_ENDPOINT", f"http://127.0.0.1:{unused.getsockname()[1]}")
    monkeypatch.delenv("PLAYHEAD_COLLECTOR_URL", raising=False)
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(journal.parent.parent))
    return lambda *args: CliRunner().invoke(app, args)


def test_every_reading_command_answers_from_the_journal(playhead: Command):
    listed = playhead("runs", "--local")
    assert {line.split("\t")[0] for line in listed.stdout.splitlines()[1:]} == {RUN, OTHER}
    commands = ("show", "events", "state", "context", "messages", "tree", "tokens", "why", "suspects", "decisions")
    for command in (*commands, "compressions", "checkpoints"):
        done = playhead(command, RUN, "--local")
        assert (done.exit_code, done.stderr) == (0, ""), (command, done.output)
        assert done.stdout
    assert playhead("compare", RUN, OTHER, "--local").exit_code == 0
    assert playhead("across", "statistics", "--local").exit_code == 0


def test_context_and_messages_say_of_an_image_what_it_is(playhead: Command, tmp_path: Path, monkeypatch: Any):
    seen = Recorder(RUN)
    parts = [
        {"type": "text", "content": "what is this?"},
        {"type": "blob", "mime_type": "image/png", "modality": "image", "content": "iVBORw0KGgoA" * 5_000},
        {"type": "uri", "modality": "image", "uri": "https://example.org/cat.png"},
    ]
    seen.model([{"role": "user", "parts": parts}], text_message("assistant", "a cat"))
    write_journal(tmp_path / "seen", [seen.batch()])
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "seen"))
    said = "what is this?\n[image: image/png, 45,000 bytes]\n[image: https://example.org/cat.png]\n"
    for command in ("context", "messages"):
        done = playhead(command, RUN, "--local")
        assert said in done.stdout, done.output


def test_without_a_collector_the_journal_is_asked_and_stderr_says_so(playhead: Command, journal: Path):
    done = playhead("events", RUN)
    assert done.exit_code == 0
    assert "tool_called" in done.stdout
    assert done.stderr == f"playhead: no collector answers: this is from the journal in {journal.parent.parent}\n"


def test_a_collector_that_was_named_is_not_replaced_by_the_journal(playhead: Command, monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    assert playhead("runs", "--url", url).exit_code == 3


@pytest.mark.parametrize(
    "command", [("search", "decisions"), ("watch", RUN), ("delete", RUN, "--yes"), ("keys", "list")]
)
def test_what_only_a_collector_can_do_is_refused(playhead: Command, command: tuple[str, ...]):
    done = playhead(*command, "--local")
    assert done.exit_code == 2
    assert "--local" in done.stderr


def test_a_run_of_the_journal_that_has_ended_cannot_be_interrupted(playhead: Command):
    ended = playhead("interrupt", RUN[:4], "--local")
    assert ended.exit_code == 2
    assert f"run {RUN} has ended (completed): only a run that goes on can be stopped" in ended.stderr
    assert playhead("interrupt", "9999", "--local").exit_code == 1
    begun_elsewhere = playhead("interrupt", "9" * 32, "--local")
    assert (begun_elsewhere.exit_code, begun_elsewhere.stdout) == (0, f"asked to stop at its next call: {'9' * 32}\n")


def test_a_damaged_file_is_read_around_the_damage_and_stderr_says_so(playhead: Command, journal: Path):
    data = bytearray(journal.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 100] = b"\xff" * 100
    journal.write_bytes(data)
    done = playhead("runs", "--local")
    assert done.exit_code == 0
    assert RUN in done.stdout
    assert f"of {journal} are damaged: what stood there is left out" in done.stderr


def test_a_file_that_was_cut_short_gives_what_is_whole(playhead: Command, journal: Path):
    journal.write_bytes(journal.read_bytes()[:-7])
    done = playhead("events", RUN, "--local")
    assert done.exit_code == 0
    assert "are damaged: what stood there is left out" in done.stderr
    assert "run_completed" in done.stdout


def test_no_journal_has_no_runs(playhead: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "never"))
    assert playhead("runs", "--local").stdout.splitlines()[1:] == []
    assert playhead("runs").exit_code == 3
