"""Writes what a real Phoenix exports of spans that real instrumentations sent: golden input of `playhead import`.

Needs the environment of `make peers PEERS=install`, with a Phoenix running:

    PHOENIX_WORKING_DIR=$(mktemp -d) PHOENIX_PORT=6006 .venv-peers/bin/phoenix serve
    .venv-peers/bin/python -m tests.support.exports.capture_phoenix http://127.0.0.1:6006

It writes tests/golden/exports/phoenix_*: rows as the client gives them, and the data frame as JSON
lines and as Parquet.
"""

import base64
import json
import sys
import time
import urllib.request
from importlib import import_module
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[2] / "golden"
SENDERS = ("openinference_langgraph", "openinference_anthropic")
PROJECT = "playhead"


def main(url: str) -> None:
    connect: Any = import_module("phoenix.client").Client
    expected = sum(_send(url, name) for name in SENDERS)
    client = connect(base_url=url)
    time.sleep(5)  # it stores spans after it has answered
    rows = list(client.spans.get_spans(project_identifier=PROJECT, limit=1_000))
    assert len(rows) == expected, f"{len(rows)} of {expected} spans are there: start with an empty Phoenix, or wait"
    rows.sort(key=lambda row: (row["start_time"], row["context"]["span_id"]))
    to = GOLDEN / "exports"
    to.mkdir(exist_ok=True)
    lines = (json.dumps(row, sort_keys=True, default=str) for row in rows)
    (to / "phoenix_spans.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    frame = client.spans.get_spans_dataframe(project_identifier=PROJECT, limit=1_000)
    frame = frame.sort_values("start_time")
    (to / "phoenix_dataframe.jsonl").write_text(frame.to_json(orient="records", lines=True), encoding="utf-8")
    # Columns with values of several types have no type in Parquet: as everybody does, they are written as JSON.
    for column in frame.columns:
        if any(isinstance(value, dict | list) for value in frame[column]):
            frame[column] = [json.dumps(value) if isinstance(value, dict | list) else None for value in frame[column]]
    frame.to_parquet(to / "phoenix_dataframe.parquet")


def _send(url: str, name: str) -> int:
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = json.loads((GOLDEN / "senders" / f"{name}.json").read_text(encoding="utf-8"))["traces"]
    spans = 0
    for outer in request["resourceSpans"]:
        for inner in outer["scopeSpans"]:
            for span in inner["spans"]:
                spans += 1
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in span:
                        span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    body = ParseDict(request, ExportTraceServiceRequest(), ignore_unknown_fields=True).SerializeToString()
    headers = {"content-type": "application/x-protobuf", "x-project-name": PROJECT}
    urllib.request.urlopen(urllib.request.Request(f"{url}/v1/traces", body, headers)).close()
    return spans


if __name__ == "__main__":
    main(sys.argv[1])
