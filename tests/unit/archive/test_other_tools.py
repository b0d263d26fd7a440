"""Exports of other tools → the spans that their own SDKs sent, as far as an export has them.

tests/support/exports says how the files were made."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.archive import langfuse, phoenix
from playhead.archive.rows import flattened, span_id, time_ns, trace_id
from playhead.cli.archives.sources import ImportFiles
from playhead.lift import Lifted, lift
from playhead.model import names
from playhead.model.span import STATUS_ERROR, Span
from playhead.projection.counted_run import run_calls
from tests.senders.sent import GOLDEN as SENDERS
from tests.senders.sent import sent

GOLDEN = SENDERS.parent / "exports"
# What a model was given and gave, and what it cost.
SAME = (
    names.KIND, names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF, names.REQUEST_MODEL, names.INPUT_TOKENS,
    names.OUTPUT_TOKENS, names.TOOL_ARGUMENTS_REF, names.TOOL_RESULT_REF, names.TOOL_NAME, names.CONVERSATION,
)  # fmt: skip


def originals(*senders: str) -> dict[str, Lifted]:
    return {one.span.span_id: one for name in senders for one in sent(name).lifted}


def rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (GOLDEN / name).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


@pytest.mark.parametrize("name", ["phoenix_spans.jsonl", "phoenix_dataframe.jsonl"])
def test_a_span_of_phoenix_says_what_the_instrumentation_said(name: str):
    sent_there = originals("openinference_langgraph", "openinference_anthropic")
    found = [phoenix.span_of_row(row) for row in rows(name)]
    assert {span.span_id for span in found} == sent_there.keys()
    for span in found:
        original, lifted = sent_there[span.span_id].span, lift(span).span
        assert (span.trace_id, span.parent_id, span.name) == (original.trace_id, original.parent_id, original.name)
        assert abs(span.start_ns - original.start_ns) < 1_000_000  # a data frame's JSON has milliseconds
        assert span.end_ns is not None
        assert span.end_ns >= span.start_ns
        for key in SAME:
            assert lifted.attributes.get(key) == original.attributes.get(key), (span.name, key)


def model_calls(spans: list[Span]) -> list[str]:
    """The ids of the spans that are counted as model calls."""
    nodes = run_calls(spans[0].trace_id, spans, []).tree.nodes
    return sorted(node.span.span_id for node in nodes if node.kind == "llm")


@pytest.mark.parametrize("name", ["phoenix_spans.jsonl", "phoenix_dataframe.jsonl"])
def test_a_call_that_two_instrumentations_have_recorded_is_one_call(name: str):
    """An export does not say which instrumentation has made a span; a stream's two spans are beside each other."""
    original = [one.span for one in sent("openinference_anthropic").lifted]
    run = original[0].trace_id
    imported = [lift(span).span for span in map(phoenix.span_of_row, rows(name)) if span.trace_id == run]
    assert len(imported) == len(original)
    assert model_calls(imported) == model_calls(original) != []


def test_the_parquet_file_has_the_same_spans(tmp_path: Path):
    pytest.importorskip("pyarrow")
    sources = ImportFiles(None, 10_000_000, tmp_path)
    found: list[Any] = list(sources.items([GOLDEN / "phoenix_dataframe.parquet"]))
    expected = {span.span_id: span for span in map(phoenix.span_of_row, rows("phoenix_dataframe.jsonl"))}
    assert {item.record["spanId"] for item in found} == expected.keys()
    for item in found:
        keys = {pair["key"] for pair in item.record["attributes"]}
        assert keys == expected[item.record["spanId"]].attributes.keys()
    assert set(sources.formats.values()) == {"phoenix"}


@pytest.mark.parametrize("name", ["langfuse_api.json", "langfuse_blob_storage.jsonl"])
def test_an_observation_of_langfuse_says_what_the_sdk_said(name: str, tmp_path: Path):
    sent_there = originals("langfuse_openai")
    sources = ImportFiles(None, 10_000_000, tmp_path)
    items: list[Any] = list(sources.items([GOLDEN / name]))
    assert set(sources.formats.values()) == {"langfuse"}
    assert {item.record["spanId"] for item in items} == sent_there.keys()
    rows_of = json.loads((GOLDEN / "langfuse_api.json").read_text())["data"]
    for span in (span for row in rows_of for span in langfuse.spans_of_row(row)):
        assert isinstance(span, Span)
        original, lifted = sent_there[span.span_id].span, lift(span).span
        assert (span.trace_id, span.parent_id, span.name) == (original.trace_id, original.parent_id, original.name)
        for key in SAME:
            assert lifted.attributes.get(key) == original.attributes.get(key), (span.name, key)


def test_an_older_trace_of_langfuse_is_a_run_with_a_span_for_the_trace():
    (first, *_) = json.loads((GOLDEN / "langfuse_older_traces.json").read_text())
    root, *others = langfuse.spans_of_row(first)
    assert isinstance(root, Span)
    assert root.trace_id == first["id"].replace("-", "")
    assert (root.parent_id, root.name, root.attributes["langfuse.trace.tags"]) == (None, "clerk", ["old"])
    assert len(others) == len(first["observations"])
    known = {root.span_id} | {span.span_id for span in others if isinstance(span, Span)}
    assert all(isinstance(span, Span) and span.parent_id in known for span in others)
    calls = [lift(span).span.attributes for span in others if isinstance(span, Span)]
    models = [each for each in calls if each.get(names.KIND) == "llm"]
    assert models
    assert all(names.INPUT_MESSAGES_REF in each for each in models)
    assert any(each.get(names.INPUT_TOKENS, 0) > 0 for each in models)


def test_rows_of_traces_and_of_observations_may_come_apart():
    trace = {"id": "t-1", "timestamp": "2026-01-31T12:00:00Z", "name": "chat", "user_id": "u"}
    call = {
        "id": "o-1",
        "trace_id": "t-1",
        "type": "GENERATION",
        "start_time": "2026-01-31 12:00:01.5",
        "level": "ERROR",
    }
    (root,), (span,) = langfuse.spans_of_row(trace), langfuse.spans_of_row(call)
    assert isinstance(root, Span)
    assert isinstance(span, Span)
    assert (span.trace_id, span.parent_id, span.status) == (root.trace_id, root.span_id, STATUS_ERROR)
    assert span.start_ns - root.start_ns == 1_500_000_000
    (again,) = langfuse.spans_of_row(dict(call))
    assert again == span


def test_rows_that_are_no_spans_say_why():
    score = {"id": "s", "traceId": "t", "name": "good", "value": 1, "timestamp": "2026-01-31T12:00:00Z"}
    for row, why in (
        (score, "scores"),
        ({"id": "o", "traceId": "t", "type": "SPAN"}, "startTime"),
        ({"id": "o", "traceId": None, "type": "SPAN", "startTime": "2026-01-31"}, "an id"),
        ({"id": "o", "traceId": "t", "type": "SPAN", "startTime": "yesterday"}, "yesterday"),
    ):
        (error,) = langfuse.spans_of_row(row)
        assert isinstance(error, ValueError)
        assert why in str(error)
    with pytest.raises(ValueError, match="start_time"):
        phoenix.span_of_row({"context": {"trace_id": "a", "span_id": "b"}})


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(
    ["id", "trace_id", "traceId", "type", "start_time", "startTime", "end_time", "timestamp", "input", "usage", "tags",
     "observations", "trace", "latency", "metadata", "context", "attributes", "attributes.llm.tools", "events", "level"]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(KEYS, ANY, max_size=8))
def test_whatever_a_row_holds_it_is_a_span_or_a_reason(tmp_path_factory: pytest.TempPathFactory, row: dict[str, Any]):
    folder = tmp_path_factory.getbasetemp()
    path = folder / "row.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    for form in ("phoenix", "langfuse", None):
        assert list(ImportFiles(form, 1_000_000, folder).items([path]))


def test_times_in_all_the_ways_that_rows_have_them():
    at = 1_769_860_800_000_000_000
    for value in (
        "2026-01-31T12:00:00Z",
        "2026-01-31 12:00:00",
        "2026-01-31T14:00:00+02:00",
        at,
        at // 1_000,
        at // 1_000_000,
        at // 10**9,
        datetime(2026, 1, 31, 12, tzinfo=UTC),
        datetime(2026, 1, 31, 12),  # noqa: DTZ001 - what is tested
    ):
        assert time_ns(value) == at, value
    assert [time_ns(value) for value in (None, "", float("nan"))] == [None] * 3


def test_ids_are_kept_or_derived():
    assert trace_id("AB" * 16) == "ab" * 16
    assert trace_id("01a20363-ba45-7389-8add-447c4ee5d0e3") == "01a20363ba4573898add447c4ee5d0e3"
    assert trace_id("my trace") == trace_id("my trace") != trace_id("my other trace")
    assert span_id("cd" * 8, "t") == "cd" * 8
    assert span_id("one", "t") != span_id("one", "u")
    assert len(span_id("one", "t")) == 16
    assert trace_id("0" * 32) != "0" * 32


def test_nested_values_become_names():
    assert dict(flattened("llm", {"tools": [{"a.b": 1}, {"c": None}], "tags": ["x", "y"], "nan": float("nan")})) == {
        "llm.tools.0.a.b": 1,
        "llm.tags": ["x", "y"],
    }
