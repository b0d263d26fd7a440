"""What a real Phoenix shows of runs that were sent to it is what we hold of them.

`make peers PEERS=phoenix` installs it (850 MB) and runs these; without it they are skipped.  The recorded runs are
those of PLAYHEAD_TRAJECTORIES, a folder, or those of the repository.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from playhead.export.destinations.delivery import LaneContents
from playhead.export.shipment import LaneCursor
from playhead.journal.lane import LaneReader, lanes
from playhead.model import names
from playhead.model.span import STATUS_ERROR, Span
from playhead.outbound.contents import OutboundContents
from playhead.outbound.encoding import wanted
from playhead.outbound.options import OutboundOptions
from playhead.outbound.otlp import traces_request
from playhead.outbound.span import OutboundRun, outbound_span, run_of
from playhead.outbound.vocabularies.chat import ChatEntry, chat_of
from playhead_collector.destination_settings import PhoenixSettings
from playhead_collector.forward.destination import ForwardLimits, destination
from playhead_collector.forward.forwarder import Forwarder
from playhead_collector.read.prices import shipped
from playhead_collector.store.ports.scores import ScoreToAdd
from playhead_collector.store.postgres.store import connect
from tests.integration.forward.test_destinations import batch
from tests.integration.store.making import RUN, Clock, P
from tests.phoenix.program import AGENT, RUNS
from tests.phoenix.server import PhoenixServer, decoded, is_installed, phoenix_server
from tests.unit.export.test_phoenix_projects import Exporter, spans

pytestmark = pytest.mark.skipif(not is_installed(), reason="make peers PEERS=phoenix installs Phoenix")

ROOT = Path(__file__).parents[2]
GIVEN = os.environ.get("PLAYHEAD_TRAJECTORIES")
FOLDER = Path(GIVEN or ROOT / "tests" / "fixtures" / "trajectories")
MOST_RUNS = 20
_KINDS = {"agent": "AGENT", "llm": "LLM", "tool": "TOOL", "step": "CHAIN"}


@dataclass(frozen=True)
class Held:
    """What the journal of one program holds."""

    spans: list[Span]
    runs: dict[str, OutboundRun]
    contents: LaneContents
    lane: Path

    def of(self, span: Span) -> tuple[Any, OutboundContents]:
        outgoing = outbound_span(span, self.runs.get(span.attributes[names.RUN_ID]))
        return outgoing, self.contents.find(wanted(outgoing, OutboundOptions("phoenix")), self.lane)


@pytest.fixture(scope="module")
def phoenix() -> Iterator[PhoenixServer]:
    with phoenix_server() as server:
        yield server


def recorded(phoenix: PhoenixServer, journal: Path, project: str) -> Held:
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PLAYHEAD_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.phoenix.program", str(FOLDER), phoenix.url, str(MOST_RUNS), project],
        cwd=ROOT, env=environ | {"PLAYHEAD_JOURNAL_DIR": str(journal)}, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return held(journal)


def held(journal: Path) -> Held:
    [lane] = lanes(journal)
    cursor = LaneCursor(LaneReader(lane, "nobody"), complete=True)
    spans: list[Span] = []
    contents = LaneContents()
    while shipment := cursor.load():
        spans += shipment.spans
        contents.add(shipment.contents.values(), shipment.threads)
    roots = [span for span in spans if span.attributes.get(names.RUN_ROOT)]
    return Held(spans, {span.attributes[names.RUN_ID]: run_of(span.attributes) for span in roots}, contents, lane)


@pytest.mark.parametrize("project", [AGENT, RUNS])
def test_what_phoenix_shows_is_what_we_hold(phoenix: PhoenixServer, tmp_path: Path, project: str):
    ours = recorded(phoenix, tmp_path / "journal", project)
    theirs = {row["context"]["span_id"]: row for row in phoenix.spans(project, len(ours.spans))}
    if project == AGENT:
        assert len(ours.spans) >= 11
    else:
        # The repository has few recorded runs; a folder that is given has to be that of all.
        least_runs, least_spans = (MOST_RUNS, 10 * MOST_RUNS) if GIVEN else (1, 15)
        assert (len(ours.runs) >= least_runs, len(ours.spans) >= least_spans) == (True, True)
    assert set(theirs) == {span.span_id for span in ours.spans}
    for span in ours.spans:
        _compare(span, theirs[span.span_id], *ours.of(span))
    by_client = {row["context"]["span_id"]: row for row in phoenix.client_spans(project, len(ours.spans))}
    assert {key: row["span_kind"] for key, row in by_client.items()} == {
        key: row["span_kind"] for key, row in theirs.items()
    }
    cost = _cost(ours)
    assert phoenix.cost(project, lambda found: found >= cost * 0.99) == pytest.approx(cost, rel=0.01)


def _compare(span: Span, row: dict[str, Any], outgoing: Any, contents: OutboundContents) -> None:
    said = row["attributes"]
    assert row["span_kind"] == _KINDS[outgoing.kind]
    assert row["context"]["trace_id"] == span.trace_id
    assert (row["parent_id"] or None) == span.parent_id
    assert (row["status_code"] == "ERROR") == (span.status == STATUS_ERROR)
    assert row["status_message"] == span.status_message
    assert said["session.id"] == outgoing.run.session
    assert said.get("user.id") == outgoing.run.user
    if outgoing.kind == "llm":
        for attribute, prefix in ((names.INPUT_MESSAGES_REF, "input"), (names.OUTPUT_MESSAGES_REF, "output")):
            chat = chat_of(contents.messages(span.attributes[attribute]))
            assert _messages(said, f"llm.{prefix}_messages") == [_shown(entry) for entry in chat]
        assert said["llm.token_count.prompt"] == outgoing.usage.input_tokens
        assert said["llm.token_count.completion"] == outgoing.usage.output_tokens
        assert said["llm.model_name"] == outgoing.model
    if outgoing.kind == "tool":
        assert said["tool.name"] == outgoing.tool
        assert json.loads(said["input.value"]) == contents.value(outgoing.input)
    if span.status == STATUS_ERROR:
        [event] = row["events"]
        assert event["name"] == "exception"
        assert event["attributes"]["exception.message"] == span.status_message


def _messages(said: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Messages of Phoenix's flat attributes; reasoning is not a part of what we call the message."""
    found: list[dict[str, Any]] = []
    while f"{prefix}.{len(found)}.message.role" in said:
        own = f"{prefix}.{len(found)}.message."
        texts = [said[own + "content"]] if own + "content" in said else []
        part = 0
        while (kind := said.get(f"{own}contents.{part}.message_content.type")) is not None:
            if kind == "text":
                texts.append(said[f"{own}contents.{part}.message_content.text"])
            part += 1
        calls: list[Any] = []
        while (call := f"{own}tool_calls.{len(calls)}.tool_call.") + "function.name" in said:
            arguments = json.loads(said[call + "function.arguments"])
            calls.append((said[call + "id"], said[call + "function.name"], arguments))
        found.append({
            "role": said[own + "role"], "text": "\n".join(texts), "calls": calls,
            "answers": said.get(own + "tool_call_id"),
        })  # fmt: skip
    return found


def _shown(entry: ChatEntry) -> dict[str, Any]:
    calls = [(call.id, call.name, json.loads(call.arguments)) for call in entry.calls]
    return {"role": entry.role, "text": entry.text, "calls": calls, "answers": entry.answers}


def _cost(ours: Held) -> float:
    """By our own table of prices."""
    prices, total = shipped(), 0.0
    for span in ours.spans:
        outgoing, _ = ours.of(span)
        price = prices.of(outgoing.model) if outgoing.kind == "llm" else None
        total += (price.cost(outgoing.usage) or 0.0) if price is not None else 0.0
    return total


async def test_scores_are_annotations_there(phoenix: PhoenixServer, database_url: str):
    to = destination(PhoenixSettings(name="phoenix", url=phoenix.url, project="scored").checked())
    clock = Clock()
    store = await connect(database_url, pool_size=4, clock=clock, recipients=[to.recipient])
    forwarder = Forwarder(store, [to], ForwardLimits(), shipped(), "http://playhead.example", clock)
    await store.spans.ingest(P, batch())
    await forwarder.workers[0].run_once()
    spans = [row["context"]["span_id"] for row in phoenix.spans("scored", 3)]
    await store.scores.add(P, RUN, ScoreToAdd("s-1", "helpful", 0.5, comment="too long"))
    await store.scores.add(P, RUN, ScoreToAdd("s-2", "safe", True, span=spans[0]))
    await forwarder.workers[0].run_once()
    assert len(phoenix.annotations("scored", spans, 2)) == 2
    await store.outbox.backfill(P, to.recipient, RUN, 0)  # all of it once more
    await forwarder.workers[0].run_once()
    assert (await store.outbox.status(), forwarder.workers[0].counts["dead"]) == ([], 0)
    await forwarder.stop()
    await store.close()
    rows = phoenix.annotations("scored", spans, 2)
    assert len(rows) == 2
    found = {row["name"]: row for row in rows}
    assert (found["helpful"]["result"]["score"], found["helpful"]["result"]["explanation"]) == (0.5, "too long")
    assert (found["safe"]["span_id"], found["safe"]["result"]["label"]) == (spans[0], "true")


def test_phoenixs_own_decoder_reads_our_protobuf():
    from tests.unit.outbound.records import OneRecord
    from tests.unit.outbound.test_phoenix import model_call

    record = OneRecord()
    [span] = decoded(traces_request([model_call(record)]))
    assert (span["name"], span["kind"]) == ("chat gpt-4o", "LLM")
    messages = span["attributes"]["llm"]["input_messages"]
    assert [message["message"]["role"] for message in messages] == ["system", "user", "assistant", "tool"]
    assert span["attributes"]["llm"]["token_count"]["prompt"] == 120


def test_spans_that_another_project_has_are_refused(phoenix: PhoenixServer):
    trace = "5" * 32
    first = Exporter(phoenix.url, "has-it")
    assert first.send(spans(range(1, 31), trace)) == (30, 0)
    phoenix.spans("has-it", 30)
    second = Exporter(phoenix.url, "has-it-not")
    assert second.send(spans(range(21, 32), trace)) == (1, 10)
    assert len(phoenix.spans("has-it", 31)) == 31  # a new span stays with its trace
    for exporter in (first, second):
        exporter.delivery.close()
