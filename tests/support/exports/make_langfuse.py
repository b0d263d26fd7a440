"""Writes what Langfuse exports of spans that its own SDK sent: golden input of `playhead import`.

Its server does not run here.  So its rows are made of the captured spans, as its server maps them, and validated by the
models of the API in the `langfuse` package:

    .venv-peers/bin/python -m tests.support.exports.make_langfuse

It writes tests/golden/exports/langfuse_*: a page of the API, rows of a blob storage export, and an older trace with its
observations as the API and the UI gave them.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[2] / "golden"
OBSERVATION = "langfuse.observation."


def main() -> None:
    parse: Any = import_module("langfuse.api.core.pydantic_utilities").parse_obj_as
    kind = import_module("langfuse.api").ObservationsV2Response

    captured = json.loads((GOLDEN / "senders" / "langfuse_openai.json").read_text(encoding="utf-8"))["traces"]
    rows = sorted(_rows(captured), key=lambda row: row["startTime"])
    page = parse(kind, {"data": rows, "meta": {}})
    assert len(page.data) == len(rows)
    to = GOLDEN / "exports"
    to.mkdir(exist_ok=True)
    (to / "langfuse_api.json").write_text(json.dumps({"data": rows, "meta": {}}, indent=1) + "\n", encoding="utf-8")
    lines = (json.dumps(_in_blob_storage(row)) for row in rows)
    (to / "langfuse_blob_storage.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    traces = [_older_trace(trace, rows) for trace in sorted({row["traceId"] for row in rows})]
    (to / "langfuse_older_traces.json").write_text(json.dumps(traces, indent=1) + "\n", encoding="utf-8")


def _rows(request: Any) -> Iterator[dict[str, Any]]:
    for outer in request["resourceSpans"]:
        for inner in outer["scopeSpans"]:
            for span in inner["spans"]:
                said = {each["key"]: _value(each["value"]) for each in span["attributes"]}
                yield _row(span, said)


def _row(span: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    row = {
        "id": span["spanId"],
        "traceId": span["traceId"],
        "startTime": _time(span["startTimeUnixNano"]),
        "endTime": _time(span["endTimeUnixNano"]),
        "projectId": "cm0project",
        "parentObservationId": span.get("parentSpanId") or None,
        "isRootObservation": not span.get("parentSpanId"),
        "type": str(said.get(OBSERVATION + "type", "span")).upper(),
        "name": span["name"],
        "level": "DEFAULT",
        "input": said.get(OBSERVATION + "input"),
        "output": said.get(OBSERVATION + "output"),
        "model": said.get(OBSERVATION + "model.name"),
        "modelParameters": _json(said.get(OBSERVATION + "model.parameters")),
        "usageDetails": _usage(_json(said.get(OBSERVATION + "usage_details")) or {}),
        "sessionId": said.get("session.id"),
        "userId": said.get("user.id"),
        "traceName": said.get("langfuse.trace.name"),
        "metadata": {},
    }
    return {name: value for name, value in row.items() if value is not None}


def _usage(said: dict[str, Any]) -> dict[str, int]:
    """What the server makes of OpenAI's usage: parts are taken out of what they are part of."""
    if "prompt_tokens" not in said:
        return said
    cached = said.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    reasoning = said.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
    counts = {"input": said["prompt_tokens"] - cached, "output": said["completion_tokens"] - reasoning}
    counts |= {"input_cached_tokens": cached, "output_reasoning_tokens": reasoning, "total": said["total_tokens"]}
    return counts


def _in_blob_storage(row: dict[str, Any]) -> dict[str, Any]:
    """snake_case, and times without a zone."""
    snake = {"".join("_" + c.lower() if c.isupper() else c for c in name): value for name, value in row.items()}
    for name in ("start_time", "end_time"):
        snake[name] = snake[name].replace("T", " ").replace("Z", "")
    return snake


def _older_trace(trace: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Ids were UUIDs, and what is now on each observation was on its trace."""
    own = [row for row in rows if row["traceId"] == trace]
    of_trace = {"id": str(_uuid(trace)), "timestamp": own[0]["startTime"], "name": "clerk", "latency": 1.5}
    kept = ("sessionId", "userId", "traceName", "isRootObservation", "usageDetails")
    observations: list[dict[str, Any]] = []
    for row in own:
        usage = row.get("usageDetails", {})
        old = {name: value for name, value in row.items() if name not in kept}
        old |= {"usage": {"input": usage.get("input"), "output": usage.get("output"), "unit": "TOKENS"}}
        observations.append(old | {"traceId": of_trace["id"], "id": f"old-{row['id']}"})
        if "parentObservationId" in old:
            observations[-1]["parentObservationId"] = f"old-{old['parentObservationId']}"
    session = next((row["sessionId"] for row in own if "sessionId" in row), None)
    return of_trace | {"sessionId": session, "tags": ["old"], "htmlPath": "/x", "observations": observations}


def _uuid(trace: str) -> Any:
    from uuid import UUID

    return UUID(trace)


def _value(value: dict[str, Any]) -> Any:
    (kind, inner), *_ = value.items()
    return int(inner) if kind == "intValue" else inner


def _json(text: Any) -> Any:
    return None if text is None else json.loads(text)


def _time(ns: str) -> str:
    return datetime.fromtimestamp(int(ns) // 1_000 / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


if __name__ == "__main__":
    main()
