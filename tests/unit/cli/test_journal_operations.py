"""Declared operations over the journal: the same answers and errors as over HTTP, without HTTP."""

import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playhead.client import Client
from playhead.errors import BadRequest, ClientError, Conflict, NotFound
from playhead.local.client import JournalClient
from playhead.local.journal_records import JournalRecords
from playhead.model import names
from playhead.model.canonical import Content
from tests.integration.read.recorded import conversation
from tests.support.compressed_runs import RUNS
from tests.support.local_app import AppTransport, local_app
from tests.support.readers.journaled import write_journal
from tests.support.recorded_runs import Recorded

RUN, OTHER, SUMMED_UP = "0a" * 16, "0b" * 16, "0c" * 16
NOT_STORED = "sha256:" + "0" * 64


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    summed_up = Recorded(SUMMED_UP, next(run for run in RUNS if run.name == "summed_up"))
    recorded = conversation(RUN, 2)
    for todo in ("ask the carrier", "tell the user"):
        recorded.say(names.CHECKPOINT, **{names.CHECKPOINT_NAME: todo, names.STATE_REF: recorded.keep({"todo": todo})})
    write_journal(tmp_path, [recorded.batch(), conversation(OTHER, 1).batch(), summed_up.batch()])
    return tmp_path


@pytest.fixture
def local(journal: Path) -> Iterator[JournalClient]:
    with JournalClient(journal, print) as client:
        yield client


@pytest.fixture
def over_http(journal: Path) -> Iterator[Client]:
    """A client of the application over the same journal."""
    with Client("http://localhost", transport=AppTransport(local_app(JournalRecords(journal)))) as client:
        yield client


def an_input(client: Any) -> str:
    """The ref of a recorded content."""
    return next(call["refs"]["arguments"] for call in client.tool_calls(RUN))


def files_in(bundle: Content) -> tuple[str, dict[str, int]]:
    """Media type of a bundle, and sizes of the files in it by name."""
    with tarfile.open(fileobj=io.BytesIO(bundle.data)) as archive:
        return bundle.media_type, {member.name: member.size for member in archive.getmembers()}


ASKED: list[Callable[[Any], Any]] = [
    lambda client: list(client.runs(limit=1)),
    lambda client: [run["run"] for run in client.runs(since="2020-01-01")],
    lambda client: [[run["run"] for run in client.runs(errors=errors)] for errors in (True, False)],
    lambda client: client.state(RUN),
    lambda client: client.state("0a0a", at=2, hydrate=True),
    lambda client: list(client.events(RUN, limit=3, kinds=("run_started", "llm_called,llm_completed"))),
    lambda client: list(client.events("0b0b", last=2, preview=20)),
    lambda client: client.suspects(RUN, siblings=[OTHER], limit=1),
    lambda client: client.test_of(RUN),
    lambda client: list(client.run_scores(RUN)),
    lambda client: client.reasoning(RUN, 4),
    lambda client: client.content(an_input(client)),
    lambda client: client.thread(client.context(RUN)["thread"]),
    lambda client: client.content(client.context(RUN)["thread"], view="messages"),
    lambda client: client.about(an_input(client), limit=1),
    lambda client: client.about(an_input(client), run=RUN),
    lambda client: client.contents([an_input(client), NOT_STORED]),
    lambda client: client.content_pack([client.context(RUN)["thread"], NOT_STORED]),
    lambda client: client.scopes(),
    lambda client: list(client.otlp(RUN)),
    lambda client: list(client.otlp("0b0b", limit=1)),
    lambda client: files_in(client.bundle(RUN)),
    lambda client: client.reasoning("0b0b", "turn:1"),
    lambda client: client.run(RUN),
    lambda client: client.run("last"),
    lambda client: client.context(RUN),
    lambda client: client.context("0a0a", at="turn:1", form="openai", exact=True),
    lambda client: list(client.checkpoints(RUN, preview=10)),
    lambda client: list(client.checkpoints(RUN, limit=1)),
    lambda client: list(client.messages(RUN)),
    lambda client: list(client.messages("0a0a", at=5, limit=2, hydrate=False)),
    lambda client: list(client.llm_calls(RUN, hydrate=True)),
    lambda client: list(client.llm_calls("0a0a", limit=1)),
    lambda client: list(client.tool_calls(RUN, hydrate=True)),
    lambda client: list(client.spans(RUN, limit=3)),
    lambda client: client.span(RUN, next(client.spans(RUN))["span"]),
    lambda client: list(client.logs(RUN)),
    lambda client: client.diff(RUN),
    lambda client: client.diff("0a0a", 2, "turn:2", hydrate=False),
    lambda client: client.compare(RUN, OTHER),
    lambda client: client.compare("0a0a", "0b0b", limit=1, cursor="1"),
    lambda client: list(client.compressions(SUMMED_UP)),
    lambda client: client.compression("0c0c", next(client.compressions(SUMMED_UP))["seq"]),
    lambda client: client.tokens(RUN),
    lambda client: client.tokens("0a0a", limit=2, cursor="2", split=True),
    lambda client: client.waterfall(RUN),
    lambda client: client.waterfall("0a0a", after=3, limit=2, cursor="2"),
    lambda client: list(client.decisions(RUN, limit=2)),
    lambda client: client.decision(RUN, next(client.decisions(RUN))["seq"]),
    lambda client: client.tree(RUN),
    lambda client: client.tree("0a0a", limit=1, cursor="2"),
    lambda client: list(client.turns(RUN)),
    lambda client: list(client.turns("0a0a", after=4, limit=2)),
    lambda client: client.turn(RUN, 1),
    lambda client: client.turn("0a0a", 2, why=True),
    lambda client: client.verdict(RUN),
    lambda client: list(client.search_run(RUN, "way")),
    lambda client: list(client.search_run("0a0a", "A", limit=3)),
    lambda client: list(client.attributions(RUN)),
    lambda client: client.why(RUN, next(client.attributions(RUN))["event"]),
    lambda client: client.causes(RUN, "last"),
    lambda client: client.causes(RUN, "turn:2", direction="back"),
    lambda client: list(client.search_decisions(kind="tool_call")),
    lambda client: list(client.search_decisions(result="ok", limit=1)),
    lambda client: list(client.search_content("way")),
    lambda client: list(client.search_content('"carrier" or user', role="user", limit=1)),
    lambda client: list(client.search_content(ref=next(client.search_content("help"))["ref"])),
]


@pytest.mark.parametrize("ask", ASKED)
def test_the_journal_answers_as_http_does(local: JournalClient, over_http: Client, ask: Callable[[Any], Any]):
    assert ask(local) == ask(over_http)


REFUSED: list[tuple[Callable[[Any], Any], type[ClientError]]] = [
    (lambda client: client.state("ff"), NotFound),
    (lambda client: client.state("a/b"), NotFound),
    (lambda client: client.state(RUN, at=9_999), NotFound),
    (lambda client: client.span(RUN, "0" * 16), NotFound),
    (lambda client: client.span(RUN, "no id"), BadRequest),
    (lambda client: client.state(RUN, at="x" * 301), BadRequest),
    (lambda client: list(client.runs(status="lots")), BadRequest),
    (lambda client: list(client.runs(since="yesterday")), BadRequest),
    (lambda client: list(client.runs(trace="T", id="G")), BadRequest),
    (lambda client: list(client.events(RUN, last=0)), BadRequest),
    (lambda client: list(client.events(RUN, last=2, after=1)), BadRequest),
    (lambda client: client.run("ff"), NotFound),
    (lambda client: client.context(RUN, at=9_999), NotFound),
    (lambda client: client.context(RUN, form="words"), BadRequest),
    (lambda client: list(client.checkpoints(RUN, preview=10_001)), BadRequest),
    (lambda client: list(client.messages(RUN, at="x" * 301)), BadRequest),
    (lambda client: list(client.llm_calls("ff")), NotFound),
    (lambda client: list(client.tool_calls("ff")), NotFound),
    (lambda client: list(client.spans("ff")), NotFound),
    (lambda client: list(client.logs("a/b")), NotFound),
    (lambda client: client.take_lease(RUN, holder="h", process="p", seconds=60.0), BadRequest),
    (lambda client: client.renew_lease(RUN, holder="h", seconds=0.0), BadRequest),
    (lambda client: client.release_lease(RUN, holder="h"), BadRequest),
    (lambda client: client.suspects(RUN, siblings=["a"] * 6), BadRequest),
    (lambda client: client.suspects(RUN, limit=1_001), BadRequest),
    (lambda client: client.suspects(RUN, outcome="quality>=high"), BadRequest),
    (lambda client: client.rerank_suspects(RUN), Conflict),
    (lambda client: client.judge_compression(RUN, 1), Conflict),
    (lambda client: client.reasoning(RUN, 9_999), NotFound),
    (lambda client: client.reasoning(RUN, "a/b"), NotFound),
    (lambda client: client.content(NOT_STORED), NotFound),
    (lambda client: client.content("x"), BadRequest),
    (lambda client: client.about(NOT_STORED), NotFound),
    (lambda client: client.about(NOT_STORED, limit=101), BadRequest),
    (lambda client: client.about(NOT_STORED, run="last"), BadRequest),
    (lambda client: client.contents(["x"]), BadRequest),
    (lambda client: client.contents([NOT_STORED] * 1_001), BadRequest),
    (lambda client: client.content_pack(["x"]), BadRequest),
    (lambda client: list(client.otlp("ff")), NotFound),
    (lambda client: client.bundle("ff"), NotFound),
    (lambda client: client.explain(RUN), Conflict),
    (lambda client: client.ask_again(RUN, system="Be brief."), Conflict),
    (lambda client: client.ask_again(RUN, messages=[]), BadRequest),
    (lambda client: client.score(RUN, "resolved", True), BadRequest),
    (lambda client: client.diff(RUN, before="x" * 301), BadRequest),
    (lambda client: client.diff(RUN, after=9_999), NotFound),
    (lambda client: client.compare(RUN, "ff"), NotFound),
    (lambda client: client.compare(RUN, OTHER, limit=0), BadRequest),
    (lambda client: list(client.compressions("ff")), NotFound),
    (lambda client: client.compression(RUN, 1), NotFound),
    (lambda client: client.tokens(RUN, cursor="next"), BadRequest),
    (lambda client: list(client.decisions("ff")), NotFound),
    (lambda client: client.decision(RUN, "x" * 301), BadRequest),
    (lambda client: client.tree(RUN, limit=1_001), BadRequest),
    (lambda client: list(client.attributions("ff")), NotFound),
    (lambda client: client.why(RUN, 1), NotFound),
    (lambda client: client.causes(RUN, 1, direction="up"), BadRequest),
]


@pytest.mark.parametrize(("ask", "kind"), REFUSED)
def test_the_journal_refuses_as_http_does(
    local: JournalClient, over_http: Client, ask: Callable[[Any], Any], kind: type[ClientError]
):
    with pytest.raises(kind) as expected:
        ask(over_http)
    with pytest.raises(kind) as raised:
        ask(local)
    assert str(raised.value) == str(expected.value)
    assert raised.value.code == expected.value.code


def test_only_a_collector_follows_runs(local: JournalClient):
    with pytest.raises(BadRequest, match="needs the collector's database"):
        list(local.live_events(RUN))


def test_only_a_collector_lists_contents_by_their_size(local: JournalClient):
    with pytest.raises(BadRequest, match="needs the collector's database"):
        list(local.large_contents())


@pytest.mark.parametrize(
    "name",
    ["storage", "keys", "destinations", "project", "projects", "forgettings", "redaction", "retention", "scorers"],
)
def test_what_only_a_collector_has_is_not_read_from_the_journal(local: JournalClient, name: str):
    with pytest.raises(BadRequest, match="needs the collector's database"):
        getattr(local, name)()


def test_the_journal_counts_with_the_context_windows_of_the_settings(journal: Path, monkeypatch: pytest.MonkeyPatch):
    with JournalClient(journal, print) as client:
        [model] = client.tokens(RUN)["models"]
    assert model["model"]
    monkeypatch.setenv("PLAYHEAD_CONTEXT_WINDOWS", f"{model['model']}=4321")
    with JournalClient(journal, print) as client:
        [set_here] = client.tokens(RUN)["models"]
    assert model["limit"] != 4_321
    assert set_here["limit"] == 4_321
