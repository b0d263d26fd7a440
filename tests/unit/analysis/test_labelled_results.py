"""How well failures are told from results: measured on real results that were labelled by hand.

`tool_results.jsonl` has beginnings of at most 700 characters: of recorded runs (tau-bench airline, MIT licence,
Copyright (c) 2024 Sierra), of commands, and of what MCP servers, LangGraph, OpenAI Agents and pydantic-ai give for
tools that raise.
`failed`: whether the tool did not do what it was called for.
"""

import json
from pathlib import Path
from typing import Any

from playhead_collector.analysis.transcript.failures import failure_text

RESULTS = Path(__file__).parents[2] / "fixtures" / "tool_results.jsonl"


def test_failures_are_found_and_little_else() -> None:
    rows: list[dict[str, Any]] = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()]
    failed = [row for row in rows if row["failed"]]
    assert len(rows) >= 200
    assert min(len(failed), len(rows) - len(failed)) >= 90
    told = [row for row in rows if failure_text(row["text"]) is not None]
    right = [row for row in told if row["failed"]]
    missed = [row["source"] for row in failed if row not in told]
    wrong = [row["source"] for row in told if not row["failed"]]
    assert len(right) / len(failed) >= 0.98, missed
    assert len(right) / len(told) >= 0.97, wrong
