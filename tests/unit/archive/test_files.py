"""OTLP files in all their forms → the same records; hostile files end with a reason, never with an error of ours."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from google.protobuf.json_format import ParseDict
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from playhead.archive.documents import Document, format_of, json_documents
from playhead.archive.protobuf import protobuf_file
from playhead.archive.records import JSON, PROTOBUF, FilePlace, OtlpRecord, UnreadableRecord, json_records, request_of
from playhead.cli.archives.sources import ImportFiles
from playhead.model.json_value import Json
from playhead.model.span import LogEvent, Span
from playhead.wire import export_layout as layout
from playhead.wire.otlp_json import logs_json, traces_json

MOST = 1_000_000


def spans(count: int, text: str = "hello") -> list[Span]:
    return [Span("ab" * 16, f"{n + 1:016x}", None, f"s{n}", 5, 9, {"text": text}, scope="x") for n in range(count)]


def protobuf(request: Any) -> bytes:
    kind = ExportTraceServiceRequest if "resourceSpans" in request else ExportLogsServiceRequest
    text = json.loads(json.dumps(request))
    for outer in text.get("resourceSpans", []) + text.get("resourceLogs", []):
        for inner in outer.get("scopeSpans", []) + outer.get("scopeLogs", []):
            for record in inner.get("spans", []) + inner.get("logRecords", []):
                for name in ("traceId", "spanId"):
                    record[name] = __import__("base64").b64encode(bytes.fromhex(record[name])).decode()
    return ParseDict(text, kind()).SerializeToString()


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


REQUESTS = [traces_json(spans(2)), logs_json([LogEvent("e", 5, "ab" * 16, "cd" * 8, {"a": 1})]), traces_json(spans(1))]
FORMS: dict[str, Callable[[], bytes]] = {
    "lines": lambda: b"\n".join(map(orjson.dumps, REQUESTS)) + b"\n",
    "no end of line": lambda: b"\n".join(map(orjson.dumps, REQUESTS)),
    "windows": lambda: b"\xef\xbb\xbf" + b"\r\n".join(map(orjson.dumps, REQUESTS)),
    "array": lambda: orjson.dumps(REQUESTS),
    "pretty array": lambda: json.dumps(REQUESTS, indent=2).encode(),
    "4 bytes of length": lambda: b"".join(len(data).to_bytes(4, "big") + data for data in map(protobuf, REQUESTS)),
    "compressed messages": lambda: b"".join(
        len(data).to_bytes(4, "big") + data
        for data in (zstandard.ZstdCompressor().compress(protobuf(each)) for each in REQUESTS)
    ),
    "varint of length": lambda: b"".join(varint(len(data)) + data for data in map(protobuf, REQUESTS)),
}


def read(data: bytes, most: int = MOST) -> list[OtlpRecord | UnreadableRecord]:
    stream = io.BytesIO(data)
    if data.lstrip(b"\xef\xbb\xbf \r\n")[:1] in (b"{", b"["):
        return list(_json(stream.read, most))
    return list(protobuf_file(stream.read(100), stream.read, "f", most))


def _json(reading: Callable[[int], bytes], most: int) -> Iterator[OtlpRecord | UnreadableRecord]:
    for each in json_documents(lambda size: reading(min(size, 700)), "f", most):
        if isinstance(each, Document):
            yield from json_records(each.value, each.where, each.size)
        else:
            yield each


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_file_has_the_same_records(form: str):
    found = read(FORMS[form]())
    assert [(each.signal, each.run) for each in found if isinstance(each, OtlpRecord)] == [
        ("traces", "ab" * 16), ("traces", "ab" * 16), ("logs", "ab" * 16), ("traces", "ab" * 16),
    ]  # fmt: skip
    assert len(found) == 4


@pytest.mark.parametrize("request_", REQUESTS)
def test_one_request_in_protobuf_is_a_file(request_: Any):
    found = read(protobuf(request_))
    assert found
    assert all(isinstance(each, OtlpRecord) and each.form == PROTOBUF for each in found)


@pytest.mark.parametrize("form", ["lines", "4 bytes of length"])
def test_a_request_of_records_has_them_all(form: str):
    records = [each for each in read(FORMS[form]()) if isinstance(each, OtlpRecord) and each.signal == "traces"]
    data = request_of(records)
    again = [each for each in read(data) if isinstance(each, OtlpRecord)]
    assert request_of(again) == data
    assert len(again) == 3


def test_a_pretty_document_is_one_document():
    found = read(json.dumps(REQUESTS[0], indent=1).encode())
    assert [type(each) for each in found] == [OtlpRecord, OtlpRecord]


def test_older_and_other_spellings_are_read():
    span: Json = {"trace_id": "ab" * 16, "span_id": "cd" * 8}
    scope: Json = {"instrumentationLibrary": {"name": "x"}, "spans": [span]}
    old: Json = {"resource_spans": [{"instrumentationLibrarySpans": [scope]}]}
    (found,) = json_records(old, FilePlace("f", 1), 10)
    assert isinstance(found, OtlpRecord)
    assert (found.run, found.scope) == ("ab" * 16, {"name": "x"})


def test_a_bad_line_costs_that_line():
    good = orjson.dumps(REQUESTS[2])
    found = read(b"\n".join([good, b"{broken", b"", b"[1]", b'{"no": "otlp"}', b"9" * 2_000, good]), most=1_500)
    assert [str(each.where) for each in found if isinstance(each, UnreadableRecord)] == ["f:2", "f:4", "f:5", "f:6"]
    assert sum(isinstance(each, OtlpRecord) for each in found) == 2
    assert "--max-record-bytes" in [each.why for each in found if isinstance(each, UnreadableRecord)][-1]


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"resourceSpans": 5}, "resourceSpans is '5', and no list"),
        ({"resourceSpans": [5]}, "among its resourceSpans is '5', which is no object"),
        ({"resourceSpans": [{"scopeSpans": {}}]}, "scopeSpans is '{}', and no list"),
        ({"resourceLogs": [{"scopeLogs": [{"logRecords": ["x"]}]}]}, "among its logRecords is 'x', which is no object"),
    ],
)
def test_what_is_no_list_or_object_at_any_depth_is_told(request_: Any, why: str):
    [told] = read(orjson.dumps(request_))
    assert isinstance(told, UnreadableRecord)
    assert told.why == why


def test_a_file_that_begins_with_a_bad_line_is_read_from_the_next():
    good = orjson.dumps(REQUESTS[2])
    found = read(b"{broken\n" + good + b"\n" + good)
    assert [type(each) for each in found] == [UnreadableRecord, OtlpRecord, OtlpRecord]


def test_an_array_that_is_cut_short_says_so():
    data = orjson.dumps(REQUESTS)
    for end in range(len(data) - 1, 20, -97):
        found = read(data[:end])
        assert isinstance(found[-1], UnreadableRecord)


@pytest.mark.parametrize("form", ["4 bytes of length", "varint of length"])
def test_a_protobuf_file_that_is_cut_short_keeps_what_is_whole(form: str):
    found = read(FORMS[form]()[:-3])
    assert sum(isinstance(each, OtlpRecord) for each in found) >= 2 or isinstance(found[-1], UnreadableRecord)
    assert any(isinstance(each, UnreadableRecord) for each in found)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300) | st.sampled_from(sorted(FORMS)).map(lambda form: FORMS[form]()), st.integers(0, 400))
def test_whatever_a_file_holds_reading_it_ends(data: bytes, at: int):
    for each in (data, data[:at], data[at:], data[:at] + b"\xff" + data[at + 1 :], b"{" + data, b"[" + data):
        assert all(isinstance(one, OtlpRecord | UnreadableRecord) for one in read(each))


def test_the_format_of_a_document():
    assert format_of(REQUESTS[0]) == "otlp"
    assert format_of({"context": {"span_id": "a"}}) == "phoenix"
    assert format_of({"context.span_id": "a"}) == "phoenix"
    assert format_of({"data": [{"id": "1", "traceId": "t", "type": "SPAN"}]}) == "langfuse"
    assert format_of({"id": "1", "trace_id": "t"}) == "langfuse"
    assert [format_of(each) for each in ({}, [], "x", None, {"id": 1})] == [None] * 5


def test_a_manifest_of_another_version_says_what_to_do():
    manifest = layout.Manifest("0", "now", 1, 2, 3, 4, 5, files={"traces.jsonl": layout.LineFile(1, 2, "ab")})
    data = layout.manifest_bytes(manifest)
    assert layout.read_manifest(data) == manifest
    with pytest.raises(layout.BadExport, match="update playhead"):
        layout.read_manifest(data.replace(b'"version":1', b'"version":99'))
    for bad in (b"", b"[]", b"{}", data.replace(b"counts", b"others")):
        with pytest.raises(layout.BadExport):
            layout.read_manifest(bad)


@pytest.mark.parametrize("scores", [{}, {layout.SCORES: layout.LineFile(1, 5, "0" * 64)}])
def test_an_export_that_an_older_version_made_has_no_scores(scores: dict[str, layout.LineFile], tmp_path: Path):
    for name in layout.IN_ALL_VERSIONS:
        (tmp_path / name).write_bytes(b"")
    manifest = layout.Manifest("0", "2026-01-31", 0, 0, 0, 0, 0, files=scores)
    (tmp_path / layout.MANIFEST).write_bytes(layout.manifest_bytes(manifest))
    found = [str(each) for each in ImportFiles(None, 1_000, tmp_path / "scratch").items([tmp_path])]
    assert len(found) == len(scores), found
    assert all("scores.jsonl" in each and "the file is missing" in each for each in found)


@pytest.mark.parametrize("line", [b"5", b"{}", b'{"run":"a","id":"b","name":"c","value":[],"time":"d"}'])
def test_a_line_that_is_no_score_is_refused(line: bytes):
    with pytest.raises(ValueError, match="this is no score"):
        layout.read_score_line(line)


def test_only_files_of_contents_are_contents():
    digest = "ab" * 32
    assert layout.digest_of_file(layout.content_file(digest)) == digest
    for path in ("../content/ab/" + digest, "content/cd/" + digest, "content/ab/" + digest + "/x", "/etc/passwd"):
        assert layout.digest_of_file(path) is None


def test_the_forms_are_told_apart(tmp_path: Path):
    assert {each.form for each in read(FORMS["lines"]()) if isinstance(each, OtlpRecord)} == {JSON}
