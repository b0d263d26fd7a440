"""The `playhead` command: what it prints, to a person and to a program, and its exit codes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import playhead_collector
from playhead.cli import app, collector_options, connection, exit_code, output, start
from playhead.cli.connection import complete_run
from playhead.cli.doctor import unknown_variables
from playhead.cli.options import parse_time_option
from playhead.cli.output import visible
from playhead.client import Client
from playhead.errors import BadRequest, CollectorUnreachable, NotAuthorized, NotFound, PlayheadError, SettingInvalid
from playhead.export.dead_letters import DeadLetters
from playhead.model import event as ev
from playhead.model.message import text_message
from playhead.model.span import STATUS_ERROR, LogEvent, Span
from playhead.model.usage import ModelUsage
from tests.integration.export.fake_collector import FakeCollector
from tests.support.readers.fake import EPOCH_NS, RUN, FakeStore, Story
from tests.support.readers.served import app_on, served

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


@pytest.fixture
def long_run() -> Iterator[str]:
    """A run that failed, with values that are long, metadata, user state, and what its model was used for."""
    store = FakeStore()
    story = Story(store)
    story.add(ev.RunStarted, "root", name="agent", metadata=store.keep({"release": 7}))
    story.add(ev.StateChanged, "root", key="plan", value=store.keep({"steps": 3}))
    story.tool_call("t", "read", {"path": "x" * 5_000}, "gone")
    story.add(ev.RunFailed, "root", elapsed_ms=1.0, error_type="OSError", message="no such file")
    usage = (ModelUsage("gpt-4o", None, 1_000_000, 0), ModelUsage("unheard of", None, 5, 5))
    story.done()
    store.rows[RUN] = replace(store.rows[RUN], status="failed", usage=(replace(usage[0], input_tokens=1_000), usage[1]))
    tokens = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 7}
    store.spans_of[RUN] = [
        made_span("root", None, "agent", 1),
        made_span("a", "root", "chat gpt-4o", None, **tokens),
        made_span("t", "root", "execute_tool read", 1, status=STATUS_ERROR, status_message="no such file"),
    ]
    with served(app_on(store)) as url:
        yield url


def made_span(span: str, parent: str | None, name: str, took: int | None, **more: Any) -> Span:
    failed = {key: more.pop(key) for key in ("status", "status_message") if key in more}
    start = EPOCH_NS + len(name)
    return Span("t" * 32, span, parent, name, start, None if took is None else start + took * 10**9, more, **failed)


# --- what is printed -------------------------------------------------------------------------------------------------


def test_runs_are_listed_a_line_each_for_a_pipe(playhead):
    lines = playhead("runs").stdout.splitlines()
    assert lines[0].split("\t")[:2] == ["run", "status"]
    assert [line.split("\t")[0] for line in lines[1:]] == [OTHER, RUN]
    record = lines[0].split("\t").index("record")
    assert [line.split("\t")[record] for line in lines[1:]] == ["3 spans missing", "complete"]
    assert [line.split("\t")[record + 1] for line in lines[1:]] == ["running", "running"]


@pytest.mark.parametrize(
    "command",
    [("runs",), ("show", RUN), ("events", RUN), ("state", RUN), ("context", RUN), ("messages", RUN), ("doctor",)],
)
def test_every_reading_command_prints_one_json_document(playhead, command: tuple[str, ...]):
    result = playhead(*command, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    json.loads(result.stdout)


def test_a_run_can_be_named_by_last_or_by_a_part_that_is_its_own(playhead):
    for name, run in (("last", OTHER), (RUN[:8], RUN), (OTHER[-8:].upper(), OTHER), (RUN, RUN)):
        assert json.loads(playhead("show", name, "--json").stdout)["run"] == run


def test_a_part_that_is_not_its_own_or_nobodys_is_not_found(playhead):
    for name, says in (("0190", "several runs have '0190' in their id"), ("abc", "there is no run 'abc'")):
        result = playhead("show", name)
        assert (result.exit_code, says in result.stderr) == (1, True), result.output


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
    listed = playhead("events", RUN, "--kinds", "run_started", "--kinds", "llm_called", "--json").stdout
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


def test_on_a_terminal_of_80_columns_every_run_has_a_name_that_can_be_pasted_back(
    playhead, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    monkeypatch.setattr(output, "console", partial(Console, width=80))
    lines = playhead("runs").stdout.splitlines()
    names = [line.split()[0] for line in lines if re.match("[0-9a-f]{8} ", line)]
    assert names == [OTHER[-8:], RUN[-8:]]
    assert [json.loads(playhead("show", name, "--json").stdout)["run"] for name in names] == [OTHER, RUN]
    assert "…" not in "".join(lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (["01" * 16], ["01" * 4]),
        (["a" * 23 + "0" + "b" * 8, "a" * 23 + "1" + "b" * 8], ["0" + "b" * 8, "1" + "b" * 8]),
        ([], []),
        (["a" * 32, "a" * 32], ["a" * 8, "a" * 8]),
    ],
)
def test_the_ends_of_ids_tell_runs_apart(ids: list[str], names: list[str]):
    assert output.short_ids(ids) == names


def test_events_show_arguments_and_results(playhead):
    rows = {line.split("\t")[2]: line.split("\t")[4] for line in playhead("events", RUN).stdout.splitlines()[1:]}
    assert 'arguments={"q":1}' in rows["tool_called"]
    assert 'result=["found"]' in rows["tool_completed"]


def test_long_values_are_cut_and_whole_on_request(long_run: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", long_run)
    short, whole = (CliRunner().invoke(app, ["events", RUN, *more]).stdout for more in ((), ("--values",)))
    assert ("xxx…" in short, "x" * 121 in short) == (True, False)
    assert "x" * 5_000 in whole


def test_a_tree_shows_calls_below_their_callers_with_values_and_errors(long_run: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", long_run)
    lines = [line.rstrip() for line in CliRunner().invoke(app, ["tree", RUN]).stdout.splitlines()]
    assert [line for line in lines if "└" in line or "├" in line or not line.startswith(" ")] == [
        "agent  1.00 s",
        "├── chat gpt-4o  still open, 5 → 7 tokens",
        "└── execute_tool read  1.00 s",
    ]
    assert "    ! no such file" in lines
    assert any(line.startswith('    in   {"path":"xxx') for line in lines)


def test_a_failed_run_shows_its_error_metadata_and_cost(long_run: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", long_run)
    lines = CliRunner().invoke(app, ["show", RUN]).stdout.splitlines()
    assert 'metadata\t{"release": 7}' in lines
    assert "error\tOSError: no such file" in lines
    assert "cost\t0.0025" in lines


def test_a_state_shows_values_and_no_refs(long_run: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", long_run)
    text = CliRunner().invoke(app, ["state", RUN]).stdout
    assert 'user_state\t{"plan": {"steps": 3}}' in text
    assert "sha256:" not in text
    assert "sha256:" in CliRunner().invoke(app, ["state", RUN, "--no-hydrate"]).stdout


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
        (("runs", "--since", "yesterday"), 2, "write how long ago"),
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


def test_the_collector_may_be_named_anywhere(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", "http://127.0.0.1:9")
    for args in (("--url", url, "show", RUN), ("show", RUN, "--url", url), ("show", f"--url={url}", RUN)):
        assert CliRunner().invoke(app, args).exit_code == 0
    assert CliRunner().invoke(app, ["show", RUN, "--url"]).exit_code == 2


def test_what_a_program_is_given_is_its_own():
    assert collector_options(["show", "--url=a", "x", "--api-key", "b", "-y"]) == (
        ["--url=a", "--api-key", "b"],
        ["show", "x", "-y"],
    )
    result = CliRunner().invoke(
        app, ["resume", "f" * 32, "--", sys.executable, "-c", "import sys; sys.exit(9)", "--url"]
    )
    assert result.exit_code == 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", "2026-01-31T11:58:30+00:00"),
        ("1h", "2026-01-31T11:00:00+00:00"),
        (" 2D ", "2026-01-29T12:00:00+00:00"),
        ("1w", "2026-01-24T12:00:00+00:00"),
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31T12:00+01:00", "2026-01-31T12:00+01:00"),
        (None, None),
    ],
)
def test_a_moment_may_be_said_as_how_long_ago(text: str | None, expected: str | None):
    assert parse_time_option(text, datetime(2026, 1, 31, 12, tzinfo=UTC)) == expected


@pytest.mark.parametrize("text", ["7x", "h", "1.5h", "yesterday", ""])
def test_a_moment_that_is_none_is_refused_with_the_units_that_there_are(playhead, text: str):
    done = playhead("runs", "--since", text)
    assert done.exit_code == 2
    assert f"{text!r} is not a time" in done.stderr
    assert "in s, m, h, d or w" in done.stderr


def test_a_shell_completes_the_names_of_runs(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)
    monkeypatch.setattr(connection, "_COMPLETION_SECONDS", 60.0)

    class Context:
        params: ClassVar[dict[str, Any]] = {}

        def find_root(self) -> "Context":
            return self

    assert [name for name, _ in complete_run(Context(), "")] == ["last", OTHER[-8:], RUN[-8:]]
    assert [name for name, _ in complete_run(Context(), OTHER[-8:-6])] == [OTHER[-8:], RUN[-8:]]
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", "http://127.0.0.1:9")
    assert list(complete_run(Context(), "0")) == []


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

    monkeypatch.setattr(start, "_collector", lambda: Cli)
    result = playhead("serve", "--port", "0", "--database-url", "postgresql://x/y", "--json")
    assert json.loads(result.stdout) == {"as_json": True, "port": "0", "database_url": "postgresql://x/y"}
    assert result.exit_code == 1


def test_without_the_extra_it_says_how_to_install_it(playhead, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)  # as where it is not installed
    monkeypatch.delitem(sys.modules, "playhead_collector.cli", raising=False)
    monkeypatch.delattr(playhead_collector, "cli", raising=False)
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


def test_doctor_names_misspelt_variables(playhead, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_DURABILTY", "off")
    monkeypatch.setenv("PLAYHEAD_EVENTS_LIMIT", "2")
    result = playhead("doctor")
    assert "PLAYHEAD_DURABILTY: did you mean PLAYHEAD_DURABILITY?" in result.stderr
    assert "PLAYHEAD_EVENTS_LIMIT" not in result.stderr
    assert list(unknown_variables({"PLAYHEAD_XYZ": "", "OTHER": ""}, ["PLAYHEAD_PORT"])) == [
        {"variable": "PLAYHEAD_XYZ", "meant": None}
    ]


def test_doctor_tells_unset_from_hidden(playhead, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PLAYHEAD_API_KEY", raising=False)
    assert "SDK\tPLAYHEAD_API_KEY\tnot set" in playhead("doctor").stdout
    monkeypatch.setenv("PLAYHEAD_API_KEY", "hunter2")
    assert "SDK\tPLAYHEAD_API_KEY\tset (not shown)" in playhead("doctor").stdout


def test_doctor_tells_a_refused_key_from_an_unreachable_collector(store: FakeStore, monkeypatch: pytest.MonkeyPatch):
    answer = httpx.Response(401, json={"error": {"message": "another key"}}, headers={"playhead-collector": "1"})
    refuse = httpx.MockTransport(lambda _: answer)
    monkeypatch.setattr(
        "playhead.cli.connection.CollectorAddress.ask_collector",
        lambda self, *_: Client("http://collector", transport=refuse),
    )
    result = CliRunner().invoke(app, ["doctor"])
    assert "reachable\tyes, but it refuses the key" in result.stdout
    assert (result.exit_code, "another key" in result.stderr) == (2, True)


def test_doctor_tells_an_unreachable_collector_by_its_exit_code(playhead):
    result = playhead("--url", "http://127.0.0.1:9", "doctor")
    assert (result.exit_code, "reachable\tno" in result.stdout) == (3, True)


def test_doctor_is_content_with_a_key_that_may_only_send(store: FakeStore, monkeypatch: pytest.MonkeyPatch):
    answer = httpx.Response(403, json={"error": {"message": "needs read"}}, headers={"playhead-collector": "1"})
    refuse = httpx.MockTransport(lambda _: answer)
    monkeypatch.setattr(
        "playhead.cli.connection.CollectorAddress.ask_collector",
        lambda self, *_: Client("http://collector", transport=refuse),
    )
    monkeypatch.setenv("PLAYHEAD_API_KEY", "k")
    with FakeCollector(key="k") as collector:
        monkeypatch.setenv("PLAYHEAD_ENDPOINT", collector.url)
        result = CliRunner().invoke(app, ["doctor"])
        monkeypatch.setenv("PLAYHEAD_API_KEY", "another")
        wrong = CliRunner().invoke(app, ["doctor"])
    assert f"takes records\tyes\t{collector.url}" in result.stdout
    assert "refuses the key (PLAYHEAD_API_KEY): needs read" in result.stdout
    assert (result.exit_code, collector.spans) == (0, [])
    assert "takes records\tno: " in wrong.stdout
    assert "wants another key" in wrong.stdout
    assert wrong.exit_code == 2


def test_doctor_tells_of_a_journal_that_cannot_be_kept(playhead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "not" / "yet"))
    assert "journal\tcan be written to" in playhead("doctor").stdout
    (tmp_path / "file").touch()
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "file" / "journal"))
    result = playhead("doctor")
    assert "journal\tcannot be written to" in result.stdout
    assert (result.exit_code, "set PLAYHEAD_JOURNAL_DIR" in result.stderr) == (2, True)


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


def test_ship_does_not_take_a_folder_that_is_not_there_for_an_empty_one(playhead, tmp_path, monkeypatch):
    result = playhead("ship", "--journal-dir", str(tmp_path / "jornal"))
    assert (result.exit_code, "there is no folder" in result.stderr) == (2, True)
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "not-yet"))
    assert playhead("ship").exit_code == 0


def test_resume_says_how_to_do_without_a_collector(playhead):
    result = playhead("--url", "http://127.0.0.1:9", "resume", "last", "--", "true")
    assert (result.exit_code, "a run's whole id needs none" in result.stderr) == (3, True)


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


@pytest.mark.parametrize("command", ["runs", "events", "messages"])
def test_a_list_that_is_cut_says_on_stderr_how_to_see_the_rest(playhead, command: str):
    named = () if command == "runs" else (RUN,)
    count = len(json.loads(playhead(command, *named, "--json").stdout))
    assert playhead(command, *named, "--limit", str(count)).stderr == ""
    for more in ((), ("--json",)):
        cut = playhead(command, *named, "--limit", str(count - 1), *more)
        assert cut.stderr == f"there are more {command} than these {count - 1}: ask with a larger --limit\n"
        assert "there are more" not in cut.stdout
    assert len(json.loads(cut.stdout)) == count - 1


def test_a_tree_says_that_there_is_more_only_where_there_is(long_run: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", long_run)
    count = len(json.loads(CliRunner().invoke(app, ("tree", RUN, "--json")).stdout))
    assert CliRunner().invoke(app, ("tree", RUN, "--limit", str(count))).stderr == ""
    cut = CliRunner().invoke(app, ("tree", RUN, "--limit", "1"))
    assert (cut.stderr, "more" in cut.stdout) == (
        "there are more spans than these 1: ask with a larger --limit\n",
        False,
    )
