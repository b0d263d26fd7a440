"""`playhead.export_to`: real processes, and servers that take what Langfuse and Phoenix take."""

import base64
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

import playhead
from playhead.cli import app
from playhead.errors import SettingInvalid
from playhead.export.dead_lane_delivery import ship_orphans
from playhead.export.destinations.target import export_target
from playhead.model import names
from playhead.settings.sdk import load
from tests.integration.export.fake_collector import FakeCollector
from tests.integration.forward.backend import Backend, attributes
from tests.support.backends.http import json_answer
from tests.support.backends.langfuse import PUBLIC, SECRET, Langfuse
from tests.support.backends.phoenix import Phoenix
from tests.wire.export.programs import wait_for

ROOT = Path(__file__).parents[3]
NOBODY = "http://127.0.0.1:9"  # discard: nothing listens


@pytest.fixture
def langfuse() -> Iterator[Langfuse]:
    with Langfuse() as server:
        yield server


@pytest.fixture
def phoenix() -> Iterator[Phoenix]:
    with Phoenix() as server:
        yield server


class Runs:
    """Runs programs that share a journal."""

    def __init__(self, journal: Path) -> None:
        self.journal = journal
        self.ends_with = 0

    def __call__(self, program: str, **environ: str) -> list[str]:
        own = {
            "PLAYHEAD_JOURNAL_DIR": str(self.journal), "PLAYHEAD_LINGER_SECONDS": "0.05", "NO_PROXY": "127.0.0.1",
            "LANGFUSE_PUBLIC_KEY": PUBLIC, "LANGFUSE_SECRET_KEY": SECRET, "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "2",
            "LANGFUSE_TIMEOUT": "60", "OTEL_EXPORTER_OTLP_TIMEOUT": "60",
        }  # fmt: skip
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PLAYHEAD_", "OTEL_"))}
        result = subprocess.run(
            [sys.executable, "-m", "tests.wire.export.programs", program],
            cwd=ROOT, env=kept | own | environ, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert result.returncode == self.ends_with, result.stderr
        self.said = result.stderr
        return result.stdout.split()


@pytest.fixture
def run(tmp_path: Path) -> Runs:
    return Runs(tmp_path / "journal")


def test_three_destinations_get_everything_without_a_collector(run: Runs, langfuse: Langfuse, phoenix: Phoenix):
    with Phoenix() as otlp:
        urls = {"URL_LANGFUSE": langfuse.url, "URL_PHOENIX": phoenix.url, "URL_OTLP": otlp.url}
        assert run("exports", TO="phoenix langfuse otlp", PHOENIX_PROJECT_NAME="shop", **urls) == ["delayed", "True"]
        [tool] = [row for row in langfuse.observations.values() if row["type"] == "TOOL"]
        assert (tool["name"], json.loads(tool["input"])) == ("look_up", {"order": "A1001"})
        assert json.loads(tool["output"]) == {"order": "A1001", "status": "delayed"}
        assert (tool["traceName"], tool["sessionId"], tool["userId"], tool["tags"]) == ("support", "s1", "u1", ["t1"])
        assert (tool["traceMetadata"], tool["shown_at_once"]) == ({"plan": "pro"}, True)
        assert sorted(row["kind"] for row in phoenix.spans("shop")) == ["AGENT", "AGENT", "TOOL"]
        [tool] = [row for row in phoenix.spans("shop") if row["kind"] == "TOOL"]
        run_id = json.loads(tool["attributes"]["metadata"])["playhead.run.id"]
        assert tool["attributes"]["playhead.run.url"] == f"https://playhead.example/runs/{run_id}?at={tool['id']}"
        [tool] = [row for row in otlp.spans() if row["attributes"]["playhead.kind"] == "tool"]
        assert json.loads(tool["attributes"]["gen_ai.tool.call.arguments"]) == {"order": "A1001"}
    assert run.said == ""  # nobody is told of a collector that is not there


@contextmanager
def when(condition: Callable[[], bool], file: Path) -> Generator[Path]:
    """Makes the file once the condition holds, while the block is executed."""

    def wait() -> None:
        wait_for(condition)
        file.touch()

    waiting = Thread(target=wait)
    waiting.start()
    yield file
    waiting.join()


def test_a_destination_that_is_down_holds_up_no_other_and_gets_all_of_it_later(run: Runs, phoenix: Phoenix):
    langfuse = Langfuse()
    with langfuse:
        langfuse.fail_next = [json_answer({}, 503)] * 1_000
        urls = {"URL_LANGFUSE": langfuse.url, "URL_PHOENIX": phoenix.url}

        def has_three_and_said_why() -> bool:  # a second request comes after what is said of the first
            return len(phoenix.spans()) == 3 and len(langfuse.fail_next) < 999

        with when(has_three_and_said_why, run.journal.with_name("has_three")) as three:
            answer = run("exports", TO="phoenix langfuse", FLUSH="1", UNTIL=str(three), **urls)
        assert answer == ["delayed", "False"]
        first = {row["id"] for row in phoenix.spans()}
        assert len(first) == 3
        assert langfuse.observations == {}
        assert "spans stay in the journal" in run.said
        langfuse.fail_next = []
        # What the first process left is taken when the next one has delivered its own, if that lives so long.
        with when(lambda: first <= set(langfuse.observations), run.journal.with_name("has_first")) as has_first:
            assert run("exports", TO="phoenix langfuse", UNTIL=str(has_first), **urls) == ["delayed", "True"]
        assert {row["id"] for row in phoenix.spans()} == set(langfuse.observations)


def killed(run: Runs, to: str, url: str, **environ: str) -> None:
    """A program that died before anything of what it recorded was delivered."""
    run.ends_with = -signal.SIGKILL
    run("killed", TO=to, URL=url, PLAYHEAD_LINGER_SECONDS="600", **environ)
    run.ends_with = 0


def test_a_flush_delivers_what_a_killed_program_left_for_the_same_destination(run: Runs, phoenix: Phoenix):
    killed(run, "phoenix", phoenix.url)
    assert phoenix.spans() == []
    assert run("exports", TO="phoenix", URL_PHOENIX=phoenix.url) == ["delayed", "True"]
    assert len(phoenix.spans()) == 6


def test_a_flush_does_not_wait_for_what_another_process_is_delivering(run: Runs, phoenix: Phoenix):
    killed(run, "phoenix", phoenix.url)
    [lane] = [path.parent for path in run.journal.glob("*/lock")]
    with (lane / "delivering").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # another process is at it, and does not get on
        assert run("exports", TO="phoenix", URL_PHOENIX=phoenix.url, FLUSH="30") == ["delayed", "True"]
    assert len(phoenix.spans()) == 3


@pytest.mark.parametrize("to", ["phoenix", "langfuse", "otlp"])
def test_ship_delivers_what_a_killed_program_left_for_a_destination(
    run: Runs, langfuse: Langfuse, phoenix: Phoenix, to: str
):
    url = langfuse.url if to == "langfuse" else phoenix.url
    killed(run, to, url)
    environ = {"LANGFUSE_PUBLIC_KEY": PUBLIC, "LANGFUSE_SECRET_KEY": SECRET}
    report = ship_orphans(run.journal, load({}, endpoint=NOBODY), environ=environ)
    [sent] = report.elsewhere.values()
    assert (sent.lanes, sent.spans, sent.left, sent.problem) == (1, 3, 0, "")
    assert (report.left, report.problem) == (0, "")  # nobody is told of a collector that is not there
    assert len(langfuse.observations if to == "langfuse" else phoenix.spans()) == 3
    assert ship_orphans(run.journal, load({}, endpoint=NOBODY), environ=environ).elsewhere == {}


def test_ship_says_what_it_needs_for_a_destination_and_keeps_the_rest(run: Runs, langfuse: Langfuse):
    killed(run, "langfuse", langfuse.url)
    shipped = CliRunner().invoke(
        app, ["ship", "--journal-dir", str(run.journal)], env={"LANGFUSE_PUBLIC_KEY": "", "LANGFUSE_SECRET_KEY": ""}
    )
    assert shipped.exit_code == 3
    assert "LANGFUSE_PUBLIC_KEY" in shipped.stdout
    assert langfuse.observations == {}


def test_ship_takes_headers_that_only_the_program_knew(run: Runs, phoenix: Phoenix):
    killed(run, "otlp", phoenix.url, OPTIONS='{"headers": {"X-Key": "secret"}, "content": "ref"}')
    assert not any(b"secret" in path.read_bytes() for path in run.journal.rglob("*") if path.is_file())
    [sent] = ship_orphans(run.journal, load({}, endpoint=NOBODY), environ={}).elsewhere.values()
    assert (sent.spans, sent.left) == (0, 1)
    assert "--header 'x-key=" in sent.problem
    shipped = CliRunner().invoke(app, ["ship", "--journal-dir", str(run.journal), "--header", "X-Key=secret", "--json"])
    assert shipped.exit_code == 0
    assert [sent["spans"] for sent in json.loads(shipped.stdout)["elsewhere"].values()] == [3]
    assert "delayed" not in json.dumps(phoenix.spans())


def test_ship_sends_nothing_that_a_function_of_the_program_would_have_edited(run: Runs, phoenix: Phoenix):
    killed(run, "phoenix", phoenix.url, REDACT="1")
    [sent] = ship_orphans(run.journal, load({}, endpoint=NOBODY), environ={}).elsewhere.values()
    assert (sent.spans, sent.left) == (0, 1)
    assert "the program delivers it when it runs again" in sent.problem
    assert phoenix.spans() == []


def test_an_otlp_backend_gets_log_events_too(run: Runs):
    backend = Backend().start()
    try:
        assert run("checkpoints", URL_OTLP=backend.url) == ["True"]
    finally:
        backend.stop()
    [event] = [log for request in backend.requests for log in request.logs]
    assert (event.event_name, backend.stored[names.CHECKPOINT]) == (names.CHECKPOINT, 1)
    assert json.loads(attributes(event)["playhead.state"]) == {"order": "A1001"}
    assert sum(len(request.spans) for request in backend.requests) == 3


def test_a_backend_that_takes_traces_only_holds_up_nothing(run: Runs, phoenix: Phoenix):
    assert run("checkpoints", URL_OTLP=phoenix.url) == ["True"]  # it has no /v1/logs
    assert (len(phoenix.spans()), run.said) == (3, "")


def test_a_call_that_two_instrumentations_record_counts_once(run: Runs, langfuse: Langfuse, phoenix: Phoenix):
    # In one delivery: where theirs, inside ours, is sent before ours has ended, both count.
    urls = {"URL_LANGFUSE": langfuse.url, "URL_PHOENIX": phoenix.url}
    assert run("described_twice", TO="phoenix langfuse", PLAYHEAD_LINGER_SECONDS="600", **urls) == ["True"]
    assert len(phoenix.spans()) == 7  # the run, and two spans of each call
    calls = [row["attributes"] for row in phoenix.spans() if row["kind"] == "LLM"]
    assert len(calls) == 3
    assert {call["llm.input_messages.0.message.content"] for call in calls} == {f"turn {turn}" for turn in range(3)}
    generations = [row for row in langfuse.observations.values() if row["type"] == "GENERATION"]
    assert (len(langfuse.observations), len(generations)) == (7, 3)


def test_nobody_there_costs_the_program_nothing(run: Runs):
    assert run("exports", TO="phoenix", URL_PHOENIX=NOBODY, FLUSH="30") == ["delayed", "False"]
    assert "cannot be reached" in run.said


def test_refusals_are_told_once_and_the_rest_arrives(run: Runs, langfuse: Langfuse):
    langfuse.fail_next = [json_answer({"error": "one of these is bad"}, 400)]
    assert run("exports", TO="langfuse", URL_LANGFUSE=langfuse.url) == ["delayed", "True"]
    assert len(langfuse.observations) == 3  # the batch was halved


def test_a_wrong_key_is_said(run: Runs, langfuse: Langfuse):
    answer = run("exports", TO="langfuse", URL_LANGFUSE=langfuse.url, LANGFUSE_SECRET_KEY="sk-other", FLUSH="30")
    assert answer == ["delayed", "False"]
    assert "wants another key" in run.said
    assert "sk-other" not in run.said


def test_a_collector_gets_it_too(run: Runs, phoenix: Phoenix):
    with FakeCollector() as collector:
        answer = run("exports", TO="phoenix", URL_PHOENIX=phoenix.url, PLAYHEAD_ENDPOINT=collector.url)
        assert answer == ["delayed", "True"]
        assert len(collector.spans) == len(phoenix.spans()) == 3


def test_what_another_program_left_for_its_collector_is_not_sent_and_stays(run: Runs, phoenix: Phoenix):
    assert run("exports", TO="", PLAYHEAD_ENDPOINT=NOBODY, FLUSH="0.5") == ["delayed", "False"]
    for _ in range(2):
        assert run("exports", TO="phoenix", URL_PHOENIX=phoenix.url) == ["delayed", "True"]
    assert len(phoenix.spans()) == 6
    with FakeCollector() as collector:
        assert run("exports", TO="", PLAYHEAD_ENDPOINT=collector.url, PLAYHEAD_EXIT_TIMEOUT_SECONDS="20")[1] == "True"
        ship = [sys.executable, "-m", "playhead", "ship"]
        environ = os.environ | {"PLAYHEAD_JOURNAL_DIR": str(run.journal), "PLAYHEAD_ENDPOINT": collector.url}
        subprocess.run(ship, cwd=ROOT, env=environ, check=True, capture_output=True, timeout=300)
        # Its own, and those of the first program; a delivery that its end has cut off is made again.
        assert len({span.span_id for span in collector.spans}) == 6


def test_a_destination_that_is_added_late_gets_what_came_before(run: Runs, phoenix: Phoenix):
    with FakeCollector() as collector:
        assert run("late", URL_PHOENIX=phoenix.url, PLAYHEAD_ENDPOINT=collector.url) == ["True"]
    assert len(phoenix.spans()) == 3


def test_every_call_of_a_growing_conversation_has_all_its_messages(run: Runs, phoenix: Phoenix):
    assert run("many", URL_PHOENIX=phoenix.url) == ["True"]
    calls = sorted((row for row in phoenix.spans() if row["kind"] == "LLM"), key=lambda row: row["start"])
    assert len(calls) == 12
    for turn, call in enumerate(calls):
        said = call["attributes"]
        assert said[f"llm.input_messages.{2 * turn}.message.content"].startswith(f"turn {turn} ")
        assert f"llm.input_messages.{2 * turn + 1}.message.role" not in said


def test_the_users_own_langfuse_sdk_keeps_working(run: Runs, langfuse: Langfuse, phoenix: Phoenix):
    answer = run(
        "beside_langfuse", LANGFUSE_BASE_URL=langfuse.url, LANGFUSE_HOST=langfuse.url, PLAYHEAD_ENDPOINT=NOBODY,
        PLAYHEAD_EXIT_TIMEOUT_SECONDS="0.1",
    )  # fmt: skip
    assert answer[0] == "fine"
    rows = {row["name"]: row for row in langfuse.observations.values()}
    theirs = rows["theirs"]
    assert (theirs["type"], theirs["level"], theirs["from_sdk"]) == ("CHAIN", "DEFAULT", True)
    assert json.loads(theirs["input"])["args"] == ["Where is it?"]
    assert theirs["output"] == "fine"
    # Ours pass its span filter, since they carry gen_ai.*; they have refs, and nothing of what the call was given.
    assert {"invoke_agent agent", "look_up", "chat m"} <= set(rows)
    for name in ("invoke_agent agent", "look_up", "chat m"):
        assert rows[name]["traceId"] == theirs["traceId"]
        assert "A1001" not in json.dumps(rows[name])
        assert "Where is it?" not in json.dumps(rows[name])


def test_a_ref_exporter_before_an_exporter_to_langfuse_or_phoenix_sends_refs(
    run: Runs, langfuse: Langfuse, phoenix: Phoenix
):
    pair = base64.b64encode(f"{PUBLIC}:{SECRET}".encode()).decode()
    run(
        "chained",
        URL_LANGFUSE=f"{langfuse.url}/api/public/otel/v1/traces", HEADER_LANGFUSE=f"authorization=Basic {pair}",
        URL_PHOENIX=f"{phoenix.url}/v1/traces", HEADER_PHOENIX="x-project-name=shop", PLAYHEAD_ENDPOINT=NOBODY,
    )  # fmt: skip
    [row] = langfuse.observations.values()
    assert row["otherAttributes"]["gen_ai.input.messages_ref"].startswith("sha256:")
    assert (row["type"], "a secret" in json.dumps(row)) == ("GENERATION", False)
    [span] = phoenix.spans("shop")
    assert "gen_ai.input.messages" not in span["attributes"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [({"kind": "zipkin"}, "langfuse"), ({"kind": "langfuse"}, "LANGFUSE_PUBLIC_KEY"),
     ({"kind": "phoenix", "endpoint": "host:1"}, "such as https://"), ({"kind": "otlp", "content": "all"}, "preview"),
     ({"kind": "otlp", "preview_characters": 0}, "from 1"),
     ({"kind": "otlp", "headers": {"x": "a\nb"}}, "no header can have")],
)  # fmt: skip
def test_wrong_arguments_say_what_to_give(arguments: Any, why: str, monkeypatch: pytest.MonkeyPatch):
    for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingInvalid, match=why):
        playhead.export_to(**arguments)


def test_addresses_and_keys_come_from_each_tools_own_variables():
    nothing: Any = {
        "endpoint": None, "api_key": None, "public_key": None, "secret_key": None, "project": None, "headers": None,
        "content": "full", "preview_characters": 5, "redact": None, "public_url": None,
    }  # fmt: skip
    phoenix = export_target("phoenix", {
        "PHOENIX_COLLECTOR_ENDPOINT": "https://p.example/v1/traces", "PHOENIX_API_KEY": "k",
        "PHOENIX_PROJECT_NAME": "a b", "PLAYHEAD_PUBLIC_URL": "https://pages.example/",
    }, **nothing)  # fmt: skip
    assert phoenix.public_url == "https://pages.example"
    assert (phoenix.url, dict(phoenix.headers)) == (
        "https://p.example/v1/traces", {"authorization": "Bearer k", "x-project-name": "a b"},
    )  # fmt: skip
    assert (phoenix.name, "Bearer" in repr(phoenix)) == ("phoenix-p.example-0-a_b", False)
    langfuse = export_target("langfuse", {
        "LANGFUSE_BASE_URL": "https://l.example", "LANGFUSE_PUBLIC_KEY": "p", "LANGFUSE_SECRET_KEY": "s",
    }, **nothing)  # fmt: skip
    assert langfuse.url == "https://l.example/api/public/otel/v1/traces"
    assert langfuse.headers["authorization"] == "Basic cDpz"
    otlp = export_target("otlp", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://o.example:4318/"}, **nothing)
    assert otlp.url == "http://o.example:4318/v1/traces"


def run_example(name: str, journal: Path, **environ: str) -> str:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PLAYHEAD_", "OTEL_", "OPENAI_"))}
    own = {"PLAYHEAD_JOURNAL_DIR": str(journal), "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)], env=kept | own | environ, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_example_for_phoenix_shows_the_agents_run_there(tmp_path: Path, phoenix: Phoenix):
    said = run_example("export_to_phoenix.py", tmp_path, PHOENIX_COLLECTOR_ENDPOINT=phoenix.url)
    assert "Phoenix has it" in said
    kinds = sorted(row["kind"] for row in phoenix.spans("playhead-example"))
    assert kinds == ["AGENT"] * 2 + ["LLM"] * 5 + ["TOOL"] * 4


def test_the_example_for_langfuse_leaves_out_what_it_redacts(tmp_path: Path, langfuse: Langfuse):
    keys = {"LANGFUSE_PUBLIC_KEY": PUBLIC, "LANGFUSE_SECRET_KEY": SECRET, "LANGFUSE_BASE_URL": langfuse.url}
    assert "Langfuse has it" in run_example("export_to_langfuse.py", tmp_path, **keys)
    sent = json.dumps(list(langfuse.observations.values()))
    assert len(langfuse.observations) == 11
    assert "[an article]" in sent
    assert "walnut" not in sent
