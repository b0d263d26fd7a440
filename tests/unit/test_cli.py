"""The `playhead` command: what it prints, to a person and to a program, and its exit codes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from playhead.cli import app, exit_code, start
from playhead.cli.shown import visible
from playhead.errors import BadRequest, CollectorUnreachable, NotAuthorized, NotFound, PlayheadError, SettingInvalid
from playhead.export.dead_letters import DeadLetters
from playhead.model import event as ev
from playhead.model.message import text_message
from playhead.model.span import LogEvent
from tests.integration.export.fake_collector import FakeCollector
from tests.unit.query.fake import RUN, FakeStore, Story
from tests.unit.query.served import app_on, served

OTHER = "0190ffff" * 4


@pytest.fixture(scope="module")
def store() -> FakeStore:
    store = FakeStore()
    story = Story(store)
    story.add(ev.RunStarted, "root", name="support")
    tools = store.keep([{"name": "search"}])
    called: Any = {"role": "assistant", "parts": [{"type": "tool_call", "name": "search", "arguments": {"q": 1}}]}
    story.model_call("a", [], [text_message("user", "where is it?\x1b[2J")], called, tools=tools)
    story.tool_call("t", "search", {"q": 1}, ["found"])
    story.done()
    store.keep_run([], OTHER, spans_missing=3)
    return store


@pytest.fixture(scope="module")
def url(store: FakeStore) -> Iterator[str]:
    with served(app_on(store)) as url:
        yield url


@pytest.fixture
def playhead(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)

    def call(*args: str) -> Result:
        return CliRunner().invoke(app, args)

    return call


# --- what is printed -------------------------------------------------------------------------------------------------


def test_runs_are_listed_a_line_each_for_a_pipe(playhead):
    lines = playhead("runs").stdout.splitlines()
    assert lines[0].split("\t")[:2] == ["run", "status"]
    assert [line.split("\t")[0] for line in lines[1:]] == [OTHER, RUN]
    assert [line.split("\t")[-1] for line in lines[1:]] == ["3 spans missing", "complete"]


@pytest.mark.parametrize(
    "command",
    [("runs",), ("show", RUN), ("events", RUN), ("state", RUN), ("context", RUN), ("messages", RUN), ("doctor",)],
)
def test_every_reading_command_prints_one_json_document(playhead, command: tuple[str, ...]):
    result = playhead(*command, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    json.loads(result.stdout)


def test_a_run_can_be_named_by_last_or_by_a_beginning_that_is_its_own(playhead):
    for name, run in (("last", OTHER), (RUN[:8], RUN), (OTHER[:6].upper(), OTHER), (RUN, RUN)):
        assert json.loads(playhead("show", name, "--json").stdout)["run"] == run


def test_a_beginning_that_is_not_its_own_or_nobodys_is_not_found(playhead):
    for name, says in (("0190", "2 runs begin with '0190'"), ("fff", "none of the newest")):
        result = playhead("show", name)
        assert (result.exit_code, says in result.stderr) == (1, True)


def test_a_context_reads_like_a_conversation(playhead):
    lines = playhead("context", RUN, "--at", "3").stdout
    assert "model\tgpt-4o" in lines
    assert "tools\t1" in lines
    assert "1 user\nwhere is it?" in lines


def test_messages_show_what_the_model_asked_for(playhead):
    assert 'assistant\nsearch({"q":1})' in playhead("messages", "0190f5fe").stdout


def test_what_was_recorded_cannot_steer_the_terminal_that_reads_it(playhead):
    assert "\x1b" not in playhead("messages", RUN).stdout
    assert visible("a\x1b[2Jb\tc\nd\x9b") == "a\N{REPLACEMENT CHARACTER}[2Jb\tc\nd\N{REPLACEMENT CHARACTER}"


def test_state_and_events_at_a_moment(playhead):
    assert "seq\t3" in playhead("state", RUN, "--at", "3").stdout
    assert [line.split("\t")[0] for line in playhead("events", RUN, "--after", "5").stdout.splitlines()[1:]] == [
        "6",
        "7",
    ]
    listed = playhead("events", RUN, "--kind", "run_started", "--kind", "llm_called", "--json").stdout
    assert [event["kind"] for event in json.loads(listed)] == ["run_started", "llm_called"]


def test_a_hydrated_state_shows_values(playhead):
    answer = json.loads(playhead("state", RUN, "--hydrate", "--json").stdout)
    assert [message["role"] for message in answer["values"]["thread"]] == ["user"]
    assert playhead("state", RUN, "--hydrate").exit_code == 0


def test_content_is_written_as_it_is(playhead, store: FakeStore):
    data = bytes(range(256))
    assert playhead("content", store.keep(data)).stdout_bytes == data
    described = json.loads(playhead("content", store.keep("héllo"), "--json").stdout)
    assert described == {"media_type": "text/plain; charset=utf-8", "size": 6, "text": "héllo"}


# --- exit codes, options, environment --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFound(), 1), (BadRequest(), 2), (SettingInvalid(), 2), (NotAuthorized(), 2), (CollectorUnreachable(), 3),
        (PlayheadError(), 2),
    ],
)  # fmt: skip
def test_exit_codes_mean_something(error: PlayheadError, code: int):
    assert exit_code(error) == code


def test_errors_are_one_sentence_on_stderr(playhead, monkeypatch: pytest.MonkeyPatch):
    cases = [
        (("show", "f" * 32), 1, "there is no run"),
        (("state", RUN, "--at", "999"), 1, "its events are 1 to 7"),
        (("content", "x"), 2, "is not a content ref"),
        (("runs", "--since", "yesterday"), 2, "write it like"),
        (("--url", "nowhere", "runs"), 2, "PLAYHEAD_COLLECTOR_URL"),
        (("--url", "http://127.0.0.1:9", "runs"), 3, "is it running? Start one with `playhead serve`"),
        (("runs", "--limit", "0"), 2, "--limit"),
        (("no-such-command",), 2, "no-such-command"),
    ]
    for args, code, says in cases:
        result = playhead(*args)
        assert (result.exit_code, says in result.stderr, "Traceback" in result.output) == (code, True, False), args


def test_every_option_is_also_an_environment_variable(playhead, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_EVENTS_LIMIT", "2")
    assert len(playhead("events", RUN).stdout.splitlines()) == 3


def test_help_lists_the_commands_and_the_exit_codes(playhead):
    text = playhead("--help").stdout
    for word in ("runs", "show", "events", "state", "context", "messages", "content", "serve", "demo", "ship",
                 "doctor", "Exit codes"):  # fmt: skip
        assert word in text
    assert "playhead" in playhead("--version").stdout


def test_help_needs_no_library_of_the_collectors():
    blocked = "asyncpg", "fastapi", "uvicorn", "alembic", "sqlalchemy", "httpx", "starlette"
    code = (
        f"import sys; sys.modules |= dict.fromkeys({blocked!r}); from playhead.cli import app; app(['serve', '--help'])"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "--database-url" in done.stdout, done.stderr) == (0, True, "")


# --- commands that do something --------------------------------------------------------------------------------------


def test_serve_passes_its_options_on_by_the_names_of_the_settings(playhead, monkeypatch: pytest.MonkeyPatch):
    class Cli:
        @staticmethod
        def serve(**options: Any) -> int:
            sys.stdout.write(json.dumps({name: value for name, value in options.items() if value is not None}))
            return 1

    monkeypatch.setattr(start, "_collector", lambda part: Cli)
    result = playhead("serve", "--port", "0", "--database-url", "postgresql://x/y", "--json")
    assert json.loads(result.stdout) == {"as_json": True, "port": "0", "database_url": "postgresql://x/y"}
    assert result.exit_code == 1


def test_without_the_extra_it_says_how_to_install_it(playhead, monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> Any:
        raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")

    monkeypatch.setattr(start.importlib, "import_module", missing)
    result = playhead("serve")
    assert result.exit_code == 2
    assert 'uvicorn is not installed: pip install "playhead[collector]"' in result.stderr


def test_doctor_says_what_is_in_force_where_it_comes_from_and_keeps_secrets(
    playhead, url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PLAYHEAD_API_KEY", "hunter2")
    result = playhead("doctor")
    assert "hunter2" not in result.output
    assert f"client\tPLAYHEAD_COLLECTOR_URL\t{url}\tenvironment" in result.stdout
    assert "SDK\tPLAYHEAD_DURABILITY\tprocess\tdefault" in result.stdout
    assert "collector\tPLAYHEAD_PORT\t4318\tdefault" in result.stdout
    assert "reachable\tyes" in result.stdout


def test_doctor_tells_an_unreachable_collector_by_its_exit_code(playhead):
    result = playhead("--url", "http://127.0.0.1:9", "doctor")
    assert (result.exit_code, "reachable\tno" in result.stdout) == (3, True)


def test_a_setting_that_cannot_be_used_is_said(playhead, monkeypatch: pytest.MonkeyPatch):
    for name in ("PLAYHEAD_DURABILITY", "PLAYHEAD_PORT"):
        with monkeypatch.context() as here:
            here.setenv(name, "sometimes")
            result = playhead("doctor")
            assert (result.exit_code, name in result.stderr) == (2, True)


def test_ship_says_what_it_delivered(playhead, tmp_path):
    result = playhead("ship", "--journal-dir", str(tmp_path), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["left"] == 0


def test_ship_and_doctor_tell_of_records_that_the_collector_refused(playhead, tmp_path, monkeypatch):
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path))
    DeadLetters(tmp_path, 10_000).keep([(LogEvent("playhead.checkpoint", 1, None, None, {}), "400: bad")])
    result = playhead("ship", "--json")
    assert (result.exit_code, json.loads(result.stdout)["dead_letters"]) == (3, 1)
    assert "refused records\t1 (send them again with `playhead ship --dead-letters`)" in playhead("doctor").stdout
    with FakeCollector() as collector:
        monkeypatch.setenv("PLAYHEAD_ENDPOINT", collector.url)
        result = playhead("ship", "--dead-letters", "--json")
    assert (result.exit_code, json.loads(result.stdout)["dead_letters"]) == (0, 0)
    assert [log.event_name for log in collector.logs] == ["playhead.checkpoint"]
