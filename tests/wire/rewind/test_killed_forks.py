"""A fork that is killed goes on as the fork that it was: its outcome, and what it may execute, are in its record."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from playhead.model import names
from playhead_collector.process import CollectorProcess
from tests.support.journal_reader import read_journal
from tests.support.programs.processes import Ended, run, run_playhead

PROGRAM = Path(__file__).with_name("shop_that_dies.py")
KILLED = -9
OUTCOME = {"result": "gone"}


@dataclass
class Shop:
    """The program on one machine, which has a journal of its own."""

    folder: Path
    endpoint: str = "http://127.0.0.1:9"

    def run(self, *arguments: str, how: Any = None, **environ: str) -> Ended:
        """The program, which forks or resumes a run by itself."""
        return run(PROGRAM, *arguments, environ=self._environ({"HOW": json.dumps(how or {}), **environ}))

    def command(self, *arguments: str, **environ: str) -> Ended:
        """`playhead resume` or `playhead fork` around the program."""
        program = ["--", sys.executable, str(PROGRAM)]
        return run_playhead(*arguments, *program, environ=self._environ(environ))

    def _environ(self, more: dict[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
        kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        kept |= {"PLAYHEAD_JOURNAL_DIR": str(self.folder / "journal"), "EFFECTS": str(self.folder / "effects")}
        kept |= {"OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint, "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
        self.folder.mkdir(exist_ok=True)
        return kept | more

    def effects(self) -> list[str]:
        """What its tools have done since this was last asked."""
        path = self.folder / "effects"
        done = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return done

    def only_run(self, besides: str = "") -> str:
        """The id of the run in its journal that is not this one."""
        [run_id] = {str(span.attributes[names.RUN_ID]) for span in read_journal(self.folder / "journal").spans} - {
            besides
        }
        return run_id

    def recorded(self, **environ: str) -> str:
        """The id of a run that has completed."""
        done = self.run(**environ)
        assert done.code == 0, done.errors
        self.effects()
        return done.out.split()[0]

    def killed(self, *arguments: str, how: Any = None, **environ: str) -> str:
        """The id of a run that was killed."""
        done = self.run(*arguments, how=how, **environ)
        assert done.code == KILLED, done.errors
        return done.out.split()[0]


def answer(ended: Ended) -> list[str]:
    assert ended.code == 0, ended.errors
    said: list[str] = json.loads(ended.out.splitlines()[1])
    return said


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "here")


def test_a_fork_that_is_killed_before_it_parts_still_has_its_outcome(shop: Shop) -> None:
    fork = shop.killed("fork", shop.recorded(), how={"at": "check", "outcome": OUTCOME}, DIE_BEFORE="check")
    assert shop.effects() == []
    said = answer(shop.run("resume", fork))
    assert said == ["done: look A1", "gone", "done: pay 1000", "done: mail bob", "done: file A1"]
    assert shop.effects() == ["pay 1000", "mail bob", "file A1"]
    assert answer(shop.run("resume", fork))[1] == "gone"
    assert shop.effects() == []


def test_an_exception_that_a_fork_gives_is_raised_after_a_kill_too(shop: Shop) -> None:
    fork = shop.killed("fork", shop.recorded(), how={"at": "pay", "outcome": {"error": "no"}}, DIE_BEFORE="look")
    assert answer(shop.run("resume", fork))[2] == "RuntimeError: no"
    assert shop.effects() == ["mail bob", "file A1"]


@pytest.mark.parametrize("dies", ["look", "check", "pay", "mail"])
def test_a_killed_fork_in_which_no_tool_may_be_executed_executes_none(shop: Shop, dies: str) -> None:
    parent = shop.recorded()
    how = {"at": "look", "outcome": OUTCOME, "live": "llm"}
    # It pays another amount than its parent did, so the parent has no answer for it.
    fork = shop.killed("fork", parent, how=how, DIE_BEFORE=dies, AMOUNT="7")
    said = answer(shop.run("resume", fork, AMOUNT="7"))
    assert said == ["gone", "done: check A1", "ToolDenied: execute_tool pay was", "done: mail bob", "done: file A1"]
    assert shop.effects() == []


def test_a_fork_that_was_killed_and_resumed_and_killed_again_is_still_that_fork(shop: Shop) -> None:
    how = {"at": "check", "outcome": OUTCOME, "live": "llm"}
    fork = shop.killed("fork", shop.recorded(), how=how, DIE_BEFORE="check", AMOUNT="7")
    assert shop.killed("resume", fork, DIE_BEFORE="pay", AMOUNT="7") == fork
    said = answer(shop.run("resume", fork, AMOUNT="7"))
    assert said[1:] == ["gone", "ToolDenied: execute_tool pay was", "done: mail bob", "done: file A1"]
    assert shop.effects() == []


def test_a_tool_of_the_parent_that_answered_before_the_kill_is_not_taken_twice(shop: Shop) -> None:
    fork = shop.killed("fork", shop.recorded(), how={"at": "look", "live": "llm"}, DIE_BEFORE="mail")
    said = answer(shop.run("resume", fork))
    assert said == ["done: look A1", "done: check A1", "done: pay 1000", "done: mail bob", "done: file A1"]
    assert shop.effects() == []


def test_a_resume_may_ask_for_something_else_by_name(shop: Shop) -> None:
    how = {"at": "check", "outcome": OUTCOME, "live": "llm"}
    fork = shop.killed("fork", shop.recorded(), how=how, DIE_BEFORE="check", AMOUNT="7")
    said = answer(shop.run("resume", fork, how={"live": "all", "outcomes": {"check": "here"}}, AMOUNT="7"))
    assert said == ["done: look A1", "here", "done: pay 7", "done: mail bob", "done: file A1"]
    assert shop.effects() == ["pay 7", "mail bob", "file A1"]


def test_a_tool_that_the_fork_itself_had_begun_is_in_doubt(shop: Shop) -> None:
    """`in_doubt="rerun"` is a fork's default for what its parent did; a resume asks about what the fork did."""
    fork = shop.killed("fork", shop.recorded(), how={"at": "check", "outcome": OUTCOME}, DIE_IN="pay")
    assert shop.effects() == ["pay 1000"]
    stopped = shop.run("resume", fork)
    assert "InDoubt" in stopped.errors
    assert "pay:tool had begun when the process died" in stopped.errors
    assert shop.effects() == []


def test_a_fork_whose_program_differs_from_the_record_goes_on_after_a_kill_as_before_it(shop: Shop) -> None:
    """It has executed again what its parent had done: its own results count, and are not executed once more."""
    parent = shop.recorded(PREFIX="then")
    fork = shop.killed("fork", parent, how={"at": "file", "outcome": OUTCOME}, AMOUNT="7", DIE_BEFORE="file")
    assert shop.effects() == ["pay 7", "mail bob"]
    said = answer(shop.run("resume", fork, AMOUNT="7"))
    assert said == ["then: look A1", "then: check A1", "done: pay 7", "done: mail bob", "gone"]
    assert shop.effects() == []


def test_a_fork_gives_its_outcome_also_where_its_program_has_left_the_record(shop: Shop) -> None:
    parent = shop.recorded()
    done = shop.run("fork", parent, how={"at": "file", "outcome": OUTCOME}, AMOUNT="7")
    assert answer(done)[2:] == ["done: pay 7", "done: mail bob", "gone"]
    assert shop.effects() == ["pay 7", "mail bob"]


@pytest.mark.parametrize("completed", ["raise", "reuse"])
def test_what_a_fork_says_of_completed_tools_holds_after_a_kill(shop: Shop, completed: str) -> None:
    parent = shop.recorded()
    how = {"at": "file", "outcome": OUTCOME, "completed": completed}
    fork = shop.killed("fork", parent, how=how, DIE_BEFORE="look")
    changed = shop.run("resume", fork, AMOUNT="7")
    assert shop.effects() == ["pay 7"]
    if completed == "raise":
        assert "mail:tool had completed with these arguments" in changed.errors
    else:
        assert answer(changed)[3] == "done: mail bob"


def test_what_a_fork_says_of_divergence_holds_after_a_kill(shop: Shop) -> None:
    how = {"at": "file", "outcome": OUTCOME, "on_divergence": "raise"}
    fork = shop.killed("fork", shop.recorded(), how=how, DIE_BEFORE="look")
    stopped = shop.run("resume", fork, AMOUNT="7")
    assert "ReplayDiverged" in stopped.errors
    assert shop.effects() == []
    assert answer(shop.run("resume", fork, how={"on_divergence": "live"}, AMOUNT="7"))[2] == "done: pay 7"


def test_a_function_cannot_be_recorded_so_it_is_asked_for_again(shop: Shop) -> None:
    how = {"at": "look", "outcome": OUTCOME, "live": "llm"}
    fork = shop.killed("fork, tools by a function", shop.recorded(), how=how, DIE_BEFORE="pay", AMOUNT="7")
    refused = shop.run("resume", fork, AMOUNT="7")
    assert refused.code == 1
    assert "answered its tools with a function, which no record can have" in refused.errors
    assert refused.out == ""
    assert answer(shop.run("resume", fork, how={"tools": "deny"}, AMOUNT="7"))[2].startswith("ToolDenied")
    assert shop.effects() == []


def test_a_fork_is_the_same_fork_for_the_command(shop: Shop) -> None:
    parent = shop.recorded()
    how = {"at": "check", "outcome": OUTCOME, "live": "llm"}
    fork = shop.killed("fork", parent, how=how, DIE_BEFORE="check", AMOUNT="7")
    done = shop.run(AMOUNT="7", PLAYHEAD_RESUME=fork)
    assert answer(done)[1:3] == ["gone", "ToolDenied: execute_tool pay was"]
    fork = shop.killed("fork", parent, how=how, DIE_BEFORE="check", AMOUNT="7")
    done = shop.run(AMOUNT="7", PLAYHEAD_RESUME=fork, PLAYHEAD_RESUME_LIVE="all")
    assert answer(done)[1:3] == ["gone", "done: pay 7"]
    assert shop.effects() == ["pay 7", "mail bob", "file A1"]
    forked = ["fork", parent, "--at", "check", "--outcome", json.dumps(OUTCOME), "--live", "llm"]
    for options, third in (
        (["--tools", "deny"], "ToolDenied: execute_tool pay was"),
        (["--live", "all"], "done: pay 7"),
    ):
        killed = shop.command(*forked, DIE_BEFORE="check", AMOUNT="7").out.split()[0]
        done = shop.command("resume", killed, *options, AMOUNT="7")
        assert answer(done)[1:3] == ["gone", third]
    assert shop.effects() == ["pay 7", "mail bob", "file A1"]
    refused = shop.command("resume", parent, "--live", "some")
    assert "--live some: expected all or llm" in refused.errors


def test_where_content_is_not_recorded_the_outcome_is_asked_for_again(shop: Shop) -> None:
    parent = shop.recorded()
    how = {"at": "check", "outcome": OUTCOME, "live": "llm"}
    fork = shop.killed("fork", parent, how=how, DIE_BEFORE="check", PLAYHEAD_CAPTURE_CONTENT="false")
    assert shop.effects() == []
    refused = shop.run("resume", fork)
    assert (refused.code, shop.effects()) == (1, [])


def test_a_fork_without_an_agent_around_its_calls_goes_on_as_it_was_made(shop: Shop) -> None:
    bare = {"WITHOUT_AN_AGENT": "1"}
    shop.run(**bare)
    parent = shop.only_run()
    shop.effects()
    how = {"at": "check", "outcome": OUTCOME, "live": "llm"}
    shop.run("fork", parent, how=how, DIE_BEFORE="mail", AMOUNT="7", **bare)
    fork = shop.only_run(besides=parent)
    said = answer(shop.run("resume", fork, AMOUNT="7", **bare))
    assert said == ["done: look A1", "gone", "ToolDenied: execute_tool pay was", "done: mail bob", "done: file A1"]
    assert shop.effects() == []


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=module_database_url) as running:
        yield running


@pytest.mark.parametrize("dies", ["check", "mail"])
def test_another_machine_goes_on_with_the_same_fork(tmp_path: Path, collector: CollectorProcess, dies: str) -> None:
    here, there = Shop(tmp_path / "here", collector.url), Shop(tmp_path / "there", collector.url)
    parent = here.recorded(DELIVER="30")
    how = {"at": "check", "outcome": OUTCOME, "live": "llm"}
    fork = here.killed("fork", parent, how=how, DIE_BEFORE=dies, DELIVER="30", AMOUNT="7")
    done = there.run("resume", fork, AMOUNT="7", how={"force": True}, DELIVER="30")
    assert answer(done) == [
        "done: look A1",
        "gone",
        "ToolDenied: execute_tool pay was",
        "done: mail bob",
        "done: file A1",
    ]
    assert here.effects() + there.effects() == []
