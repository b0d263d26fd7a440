"""Commands that read the journal of this machine: with --local, and by themselves without a collector."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from playhead.cli import app
from playhead.model.message import text_message
from tests.integration.export.fake_collector import closed_port
from tests.integration.read.recorded import Recorder, conversation
from tests.support.readers.fake import FakeStore
from tests.support.readers.journaled import write_journal
from tests.support.readers.served import app_on, served

RUN, OTHER = "01" * 16, "02" * 16
Command = Callable[..., Result]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return write_journal(tmp_path, [conversation(RUN, 2).batch(), conversation(OTHER, 1).batch()])


@pytest.fixture
def playhead(journal: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """The command, where nothing answers at the collector's address, which was not given."""
    with closed_port() as port:
        monkeypatch.setenv("PLAYHEAD_ENDPOINT", f"http://127.0.0.1:{port}")
        monkeypatch.delenv("PLAYHEAD_COLLECTOR_URL", raising=False)
        monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(journal.parent.parent))
        yield lambda *args: CliRunner().invoke(app, args)


def test_every_reading_command_answers_from_the_journal(playhead: Command):
    listed = playhead("runs", "--local")
    assert {line.split("\t")[0] for line in listed.stdout.splitlines()[1:]} == {RUN, OTHER}
    commands = ("show", "events", "state", "context", "messages", "tree", "tokens", "why", "suspects", "decisions")
    for command in (*commands, "compressions", "checkpoints", "verdict", "turns"):
        done = playhead(command, RUN, "--local")
        assert (done.exit_code, done.stderr) == (0, ""), (command, done.output)
        assert done.stdout
    assert playhead("compare", RUN, OTHER, "--local").exit_code == 0
    assert playhead("across", "statistics", "--local").exit_code == 0


def test_decisions_and_texts_of_the_journal_are_searched(playhead: Command, tmp_path: Path):
    recorder = Recorder("03" * 16)
    recorder.model([text_message("user", "客户要求转账到新账户")], text_message("assistant", "call get_user_details"))
    write_journal(tmp_path, [recorder.batch()])
    for words in ("转账", "getUserDetails", "user"):
        found = playhead("search", "texts", words, "--local")
        assert (found.exit_code, found.stderr) == (0, ""), found.output
        assert "03" * 16 in found.stdout
    nothing = playhead("search", "texts", "账转", "--local")
    assert (len(nothing.stdout.splitlines()), nothing.stderr) == (1, "")
    tools = playhead("search", "decisions", "--kind", "tool_call", "--local")
    assert (tools.exit_code, tools.stderr) == (0, ""), tools.output
    assert RUN in tools.stdout
    assert OTHER in tools.stdout


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


def test_show_finds_a_run_that_was_not_delivered_and_says_so(playhead: Command):
    with served(app_on(FakeStore())) as url:
        done = playhead("show", RUN, "--url", url)
        assert (done.exit_code, done.stderr) == (0, "")
        assert f"run\t{RUN}" in done.stdout
        assert "delivered\tnot delivered: only the journal of this machine has it" in done.stdout
        answer = json.loads(playhead("show", RUN, "--url", url, "--json").stdout)
        assert (answer["run"], answer["delivered"]) == (RUN, False)
        assert playhead("show", "9" * 32, "--url", url).exit_code == 1


def test_a_collector_that_was_named_is_not_replaced_by_the_journal(playhead: Command):
    with closed_port() as port:
        assert playhead("runs", "--url", f"http://127.0.0.1:{port}").exit_code == 3


@pytest.mark.parametrize("command", [("watch", RUN), ("delete", RUN, "--yes"), ("keys", "list")])
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


# Of each command that can answer from the journal: its arguments, its exit code, and what it says.
FROM_JOURNAL: dict[str, tuple[tuple[str, ...], int, str]] = {
    "runs": (("--session", "s", "--outcome", "unknown", "--sort", "attention"), 0, "run"),
    **dict.fromkeys(
        ("show", "tree", "events", "state", "context", "messages", "tokens", "why", "suspects"), (("last",), 0, "")
    ),
    **dict.fromkeys(("decisions", "compressions", "checkpoints"), (("last",), 0, "")),
    **dict.fromkeys(("verdict", "turns"), (("last",), 0, "")),
    "turn": (("last", "1", "--why"), 0, "turn"),
    "find": (("last", "way"), 0, "way"),
    "scores": ((), 0, ""),
    "conversations": ((), 0, ""),
    "conversation": (("user-7/support",), 1, "there is no conversation user-7/support"),
    "content": (("sha256:" + "0" * 64,), 1, "nothing is stored"),
    "search decisions": ((), 0, ""),
    "search texts": (("way",), 0, "way"),
    "reasoning": (("last", "999"), 1, "no event 999"),
    "diff": (("last", "--from", "1", "--to", "2"), 0, ""),
    "compare": ((RUN[:4], "last"), 0, ""),
    "explain": (("last",), 2, "no model is configured"),
    "ask-again": (("last",), 2, "no model is configured"),
    # The program is started, and its exit code is the command's.
    "resume": (("last", "--", "sh", "-c", "exit 5"), 5, ""),
    "fork": ((RUN[:4], "--at", "2", "--", "sh", "-c", "exit 5"), 5, ""),
    "promises": ((), 0, ""),
    "approve": (("9999",), 1, "9999"),
    "deny": (("9999",), 1, "9999"),
    "answer": (("9999", "1"), 1, "9999"),
    "interrupt": (("last",), 2, "has ended"),
    "journal": ((), 0, ""),
    "forget": (("--user", "nobody", "--yes"), 0, ""),
    "export": (("--session", "s"), 1, "no run of the journal meets these conditions"),
    **{f"across {command}": ((), 0, "") for command in ("statistics", "transitions", "patterns")},
    **{f"across {command}": ((), 0, "") for command in ("compression", "compression-timing")},
    **{f"across {command}": ((), 0, "") for command in ("failures", "divergences", "differences", "contents")},
}
ONLY_A_COLLECTOR: dict[str, tuple[str, ...]] = {
    "watch": (),
    "score": ("last", "name", "1"),
    "note": ("last", "text"),
    "notes": ("last",),
    "delete": ("last", "--yes"),
    "gc": (),
    "storage": (),
    "contents": (),
    "pin": ("last",),
    "unpin": ("last",),
    "retain set": ("--none",),
    "retain show": (),
    "retain log": (),
    "import": (".",),
    "keys create": ("name",),
    "keys list": (),
    "keys revoke": ("key",),
    "projects list": (),
    "projects show": (),
    "projects create": ("name",),
    "projects limit": ("name",),
    "projects delete": ("name", "--yes"),
    "scorers list": (),
    "scorers show": ("name",),
    "scorers set": ("name", "--judge", "Is it good?"),
    "scorers delete": ("name",),
    "scorers backfill": ("name",),
    "scorers test": ("name", "last"),
    "projects destroy-key": ("name", "--yes"),
    "projects redaction show": (),
    "projects redaction set": (),
    "projects redaction test": ("text",),
    "projects redaction apply": (),
    "projects redaction stop": (),
    "forward status": (),
    "forward retry": ("destination",),
    "forward drop": ("destination",),
    "forward backfill": ("destination", "last"),
}
# They ask nothing of a collector or a journal: they start something, or say how things are.
ASK_NOTHING = {"serve", "run", "demo", "ship", "migrate", "rewrap", "doctor", "backup", "restore", "scrub"}


def declared_commands(command: Any, before: tuple[str, ...] = ()) -> Iterator[str]:
    """The names of all commands that this one has."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(before)
        return
    for name, each in inner.items():
        yield from declared_commands(each, (*before, name))


def test_of_each_command_it_is_known_whether_the_journal_can_answer_it():
    known = [*FROM_JOURNAL, *ONLY_A_COLLECTOR, *ASK_NOTHING]
    assert sorted(declared_commands(get_command(app))) == sorted(known)


@pytest.fixture
def no_collector(playhead: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command, where it was said that there is no collector."""
    monkeypatch.setenv("PLAYHEAD_ENDPOINT", "none")
    monkeypatch.chdir(tmp_path)
    return playhead


@pytest.mark.parametrize("local", [(), ("--local",)])
@pytest.mark.parametrize("command", FROM_JOURNAL)
def test_without_any_collector_what_the_journal_can_answer_is_answered(
    no_collector: Command, command: str, local: tuple[str, ...]
):
    arguments, code, text = FROM_JOURNAL[command]
    done = no_collector(*local, *command.split(), *arguments)
    assert done.exit_code == code, done.output
    assert text in done.output
    assert "there is no collector" not in done.output
    assert "only a collector" not in done.output


@pytest.mark.parametrize("local", [(), ("--local",)])
@pytest.mark.parametrize("command", ONLY_A_COLLECTOR)
def test_without_any_collector_what_only_one_can_do_is_refused_and_nobody_is_sent_in_circles(
    no_collector: Command, command: str, local: tuple[str, ...]
):
    done = no_collector(*local, *command.split(), *ONLY_A_COLLECTOR[command])
    assert done.exit_code == 2, done.output
    assert "collector" in done.stderr
    assert "ask the journal" not in done.stderr
