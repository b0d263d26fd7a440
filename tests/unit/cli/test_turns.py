"""`playhead verdict`, `turns`, `turn` and `find`: what they print, to a person and to a program."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from playhead.cli import app
from playhead.model import event as ev
from tests.support.readers.agents import STACK, AgentsRun, span_with_error
from tests.support.readers.fake import RUN
from tests.support.readers.served import app_on, served

Command = Callable[..., Result]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    run = AgentsRun()
    run.says("Where is my lantern?\x1b[2J")
    run.turn("I look.", [("look_up", "c1", {"order": "AB12CD"})], result={"state": "late"})
    agent = run.agent("clerk")
    asked = run.asks_model(agent)
    run.model_answers(asked, calls=[("plan", "c2", {"order": "AB12CD"})])
    tool = run.tool("plan", {"order": "AB12CD"}, "c2", agent)
    run.add(ev.StateChanged, tool, key="plan", value=run.store.keep("open"))
    run.add(ev.ApprovalRequested, tool, approval="1a" * 16, action="Plan?")
    run.tool_raises(tool, "ConnectionError", "db-staging:5432 did not answer")
    span_with_error(run, tool, STACK)
    run.agent_ends(agent, ("ConnectionError", "db-staging:5432 did not answer"))
    run.fails("ConnectionError", "db-staging:5432 did not answer")
    with served(app_on(run.store)) as url:
        yield url


@pytest.fixture
def playhead(url: str, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)

    def call(*args: str) -> Result:
        done = CliRunner().invoke(app, args)
        assert done.exit_code == 0, done.output
        assert "\x1b" not in done.stdout
        return done

    return call


def test_a_verdict_says_what_raised_where_and_what_it_went_through(playhead: Command):
    said = playhead("verdict", RUN).stdout
    for words in (
        "outcome\tcrashed", "error\tConnectionError: db-staging:5432 did not answer", "in\tplan(AB12CD)", "turn\t2",
        "at\t/app/review.py:54 in plan", "because\tTimeoutError: timed out",
        "went through\tagent clerk, run support", "clerk\tfailed",
    ):  # fmt: skip
        assert words in said, said
    # Lines of libraries are left out.
    assert "site-packages" not in said
    answer = json.loads(playhead("verdict", RUN, "--json").stdout)
    assert answer["error"]["frames"][1]["library"]


def test_turns_are_listed_line_by_line(playhead: Command):
    lines = [line.split("\t") for line in playhead("turns", RUN).stdout.splitlines()[1:]]
    assert [(line[2], line[1]) for line in lines] == [
        ("user", ""), ("turn", "1"), ("agent", ""), ("turn", "2"), ("wait", ""),
    ]  # fmt: skip
    assert lines[1][-1] == "I look.; look_up(AB12CD)"
    assert (lines[3][4], lines[3][-1]) == ("raised", "plan(AB12CD) ✕")
    few = playhead("turns", RUN, "--limit", "2")
    assert len(few.stdout.splitlines()) == 3
    assert "more lines" in few.stderr


def test_one_turn_is_shown_with_its_calls_and_why(playhead: Command):
    said = playhead("turn", RUN, "1", "--why").stdout
    for words in ("turn\t1 of 2", "saw\t1 message, 100 tokens (reported)", "new\t1 added", "look_up(AB12CD)", "late"):
        assert words in said, said
    failed = playhead("turn", RUN, "2").stdout
    assert "raised ConnectionError" in failed
    assert 'state plan: null -> "open"' in failed
    assert json.loads(playhead("turn", RUN, "2", "--json").stdout)["calls"][0]["promise"] == "1a" * 16


def test_a_text_is_found(playhead: Command):
    lines = playhead("find", RUN, "LANTERN").stdout.splitlines()
    assert len(lines) == 2
    assert "Where is my lantern?" in lines[1]


PROGRAM = """
import asyncio
import playhead


@playhead.observe(kind="tool")
def query_plan(sql: str) -> str:
    try:
        raise TimeoutError("timed out")
    except TimeoutError as error:
        raise ConnectionError("db-staging did not answer") from error


@playhead.observe(kind="agent", name="performance")
async def performance() -> str:
    await asyncio.sleep(0.05)
    return query_plan("select 1")


@playhead.observe(kind="agent", name="security")
async def security() -> str:
    return "high: use a parameter"


@playhead.observe(kind="tool")
def retried() -> None:
    raise ValueError("handled")


@playhead.observe(kind="agent", name="review")
async def review() -> list[str]:
    try:
        retried()
    except ValueError:
        pass
    return await asyncio.gather(security(), performance())


asyncio.run(review())
"""


def test_a_program_that_crashed_tells_of_it_from_its_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "review.py"
    program.write_text(PROGRAM)
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "journal"))
    monkeypatch.setenv("PLAYHEAD_ENDPOINT", "none")
    ended = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert "db-staging did not answer" in ended.stderr
    answer = json.loads(CliRunner().invoke(app, ["verdict", "last", "--local", "--json"]).stdout)
    error = answer["error"]
    assert (answer["outcome"]["word"], answer["other_errors"]) == ("crashed", 1)
    assert (error["type"], error["call"]) == ("ConnectionError", "query_plan(select 1)")
    raised = PROGRAM.splitlines().index('        raise ConnectionError("db-staging did not answer") from error') + 1
    assert (error["at"]["file"], error["at"]["line"]) == (str(program), raised)
    assert [(cause["type"], cause["message"]) for cause in error["causes"]] == [("TimeoutError", "timed out")]
    assert [(step["kind"], step["name"]) for step in error["went_through"]] == [
        ("agent", "performance"), ("run", "review"),
    ]  # fmt: skip
    assert {agent["name"]: (agent["status"], agent["text"]) for agent in answer["agents"]} == {
        "performance": ("failed", "ConnectionError: db-staging did not answer"),
        "security": ("completed", "high: use a parameter"),
    }
