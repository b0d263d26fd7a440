"""Commands for the contexts of a run: `playhead tokens` and `playhead compressions`.

`tokens` shows their sizes and costs, `compressions` the messages that were dropped from them, and the facts in these
that were needed later.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated, Any, TypedDict, cast

import typer

from playhead.cli import output
from playhead.cli.connection import ask, run_id
from playhead.cli.options import MOMENT, Json, Limit, Run, first_rows, note_if_more
from playhead.model.message import Message
from playhead.wire.operations import TokenPoint, TokenTimeline
from playhead.wire.operations.compression import (
    CompressionAudit,
    ContextMessage,
    FactNeeded,
    JudgedCompression,
    LostFact,
    PreservedFact,
    RecordedCompression,
)
from playhead.wire.operations.tokens import CompressionTokens, TokenSplit

# A model may think for minutes before it begins to answer.
_JUDGE_SECONDS = 600.0

# --- playhead compressions --------------------------------------------------------------------------------------------


def compressions(
    ctx: typer.Context,
    run: Run,
    seq: Annotated[str | None, typer.Argument(help=f"{MOMENT}.", show_default=False)] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="With SEQ: also ask the collector's model which facts were lost.")
    ] = False,
    limit: Limit = 1_000,
    json: Json = False,
) -> None:
    """List where the context lost messages; with SEQ, show what went, which facts, and which were needed later."""
    if judge and seq is None:
        raise typer.BadParameter("--judge needs the SEQ of a compression")
    with ask(ctx, _JUDGE_SECONDS) if judge else ask(ctx) as client:
        full_id = run_id(client, run)
        audit = client.compression(full_id, seq) if seq is not None else None
        opinion = client.judge_compression(full_id, seq) if judge and seq is not None else None
        rows = (
            first_rows(ctx, "compressions", client.compressions(full_id, limit=limit + 1), limit)
            if audit is None
            else []
        )
    if opinion is not None and audit is not None:
        judged: _Judged = {"audit": audit, "opinion": opinion}
        output.answer_as(json, judged, _print_judged)
    elif audit is not None:
        output.answer_as(json, audit, _print_audit)
    else:
        output.list_as(json, rows, _COMPRESSION_COLUMNS)


def _tokens_changed(row: RecordedCompression) -> str | None:
    tokens = row["tokens"]
    return None if tokens["saved"] is None else f"{tokens['before']} to {tokens['after']}"


_COMPRESSION_COLUMNS: output.Columns[RecordedCompression] = (
    ("seq", lambda row: row["seq"]),
    ("time", lambda row: row["time"][11:23]),
    ("actor", lambda row: row["actor"]),
    ("strategy", lambda row: row["strategy"]),
    ("origin", lambda row: row["origin"]),
    ("note", lambda row: row["note"]),
    ("messages", lambda row: f"{row['messages']['before']} to {row['messages']['after']}"),
    ("kept", lambda row: row["messages"]["kept"]),
    ("summarised", lambda row: row["messages"]["summarised"]),
    ("dropped", lambda row: row["messages"]["dropped"]),
    ("written by", lambda row: row["summariser"]),
    ("tokens", _tokens_changed),
)


def _print_audit(audit: CompressionAudit) -> None:
    names = (
        *("run", "seq", "actor", "origin", "strategy", "trigger", "note", "fallback", "strength", "rule", "reason"),
        *("call", "summariser", "preserved_messages", "messages", "tokens"),
    )
    facts: dict[str, Any] = {name: cast(dict[str, Any], audit)[name] for name in names}
    counts = {
        "facts lost": audit["lost_total"],
        "needed later": audit["needed_total"],
        "preserved": audit["preserved_total"],
    }
    output.facts({**facts, **counts})
    typer.echo()
    if audit["summary"] is not None:
        summary = cast(Message, audit["summary"])
        output.message("summary: ", summary["role"], summary)
    gone = [
        *(("summarised", message) for message in audit["summarised"]),
        *(("dropped", message) for message in audit["dropped"]),
    ]
    output.rows_of(_GONE_COLUMNS, gone)
    typer.echo()
    output.rows_of(_LOST_COLUMNS, audit["lost"])
    typer.echo()
    output.rows_of(_PRESERVED_COLUMNS, audit["preserved"])


class _Judged(TypedDict):
    """What rules found, and the opinion of a model."""

    audit: CompressionAudit
    opinion: JudgedCompression


def _print_judged(answer: _Judged) -> None:
    opinion = answer["opinion"]
    _print_audit(answer["audit"])
    output.echo(f"\nfacts in the opinion of {opinion['model']}, which saw {opinion['shown']}:")
    output.rows_of(_JUDGED_COLUMNS, [("lost", fact) for fact in opinion["lost"]])
    output.rows_of(_JUDGED_COLUMNS, [("preserved", fact) for fact in opinion["preserved"]])
    if opinion["unquoted"]:
        output.echo(f"{opinion['unquoted']} more are left out: their words are in no removed message")


def _seqs(quotes: Iterable[Any]) -> str:
    return ", ".join(dict.fromkeys(str(message["seq"]) for message in quotes))


def _needs(needs: Iterable[FactNeeded]) -> str:
    return "; ".join(
        f"{need['how']} at {need['seq']}" + (f": {need['value']}" if need["value"] else "") for need in needs
    )


# Rows are pairs of a message's outcome and the message.
_GONE_COLUMNS: output.Columns[tuple[str, ContextMessage]] = (
    ("fate", lambda pair: pair[0]),
    ("seq", lambda pair: pair[1]["seq"]),
    ("role", lambda pair: pair[1]["role"]),
    ("message", lambda pair: output.shortened(output.message_text(cast(Message | None, pair[1].get("value"))))),
)
_LOST_COLUMNS: output.Columns[LostFact] = (
    ("lost", lambda fact: fact["kind"]),
    ("fact", lambda fact: fact["text"]),
    ("called", lambda fact: fact["label"]),
    ("said at", lambda fact: _seqs(fact["quotes"])),
    ("needed later", lambda fact: _needs(fact["needed"])),
)
# Rows are pairs of what became of a fact and the fact.
_JUDGED_COLUMNS: output.Columns[tuple[str, LostFact | PreservedFact]] = (
    ("by model", lambda pair: pair[0]),
    ("kind", lambda pair: pair[1]["kind"]),
    ("fact", lambda pair: pair[1]["text"]),
    ("said at", lambda pair: _seqs(pair[1]["quotes"])),
)
_PRESERVED_COLUMNS: output.Columns[PreservedFact] = (
    ("preserved", lambda fact: fact["kind"]),
    ("fact", lambda fact: fact["text"]),
    ("called", lambda fact: fact["label"]),
    ("said at", lambda fact: _seqs(fact["quotes"])),
    ("stands in", lambda fact: [kept["where"] for kept in fact["kept_in"]]),
)


# --- playhead tokens --------------------------------------------------------------------------------------------------

_POINTS_PER_PAGE = 1_000
_SPLIT_PARTS = ("system", "tools", "history", "retrieved", "output")


def tokens(
    ctx: typer.Context,
    run: Run,
    calls: Annotated[bool, typer.Option("--calls", help="Only model calls and compressions.")] = False,
    split: Annotated[
        bool, typer.Option("--split", help="What each context consists of: system, tools, history, retrieved; output.")
    ] = False,
    limit: Limit = 1_000,
    json: Json = False,
) -> None:
    """Show how a run's contexts grew, how near they came to their limits, and what that cost."""
    with ask(ctx) as client:
        full_id = run_id(client, run)
        answer = client.tokens(full_id, limit=min(limit, _POINTS_PER_PAGE), split=split)
        points, cursor = answer["items"], answer["next_cursor"]
        while cursor and len(points) < limit:
            page = client.tokens(full_id, limit=min(limit - len(points), _POINTS_PER_PAGE), cursor=cursor, split=split)
            points, cursor = [*points, *page["items"]], page["next_cursor"]
        answer["items"], answer["next_cursor"] = points, cursor
        note_if_more(ctx, "points", limit, is_more=cursor is not None)
    output.answer_as(json, answer, partial(_print_tokens, calls=calls, split=split))


def _print_tokens(answer: TokenTimeline, *, calls: bool, split: bool) -> None:
    _print_totals(answer)
    typer.echo()
    points = answer["items"]
    compressed = [(point["seq"], point["compression"]) for point in points if "compression" in point]
    if compressed:
        output.rows_of(_COMPRESSED_COLUMNS, compressed)
        typer.echo()
    if split:
        output.table(("seq", "model", "context", *_SPLIT_PARTS, "basis"), _split_lines(answer, points))
        sections = (answer["totals"].get("split") or {}).get("sections", [])
        if sections:
            typer.echo()
            output.table(("section", "tokens"), ((section["name"], section["tokens"]) for section in sections))
    else:
        wanted = [point for point in points if not calls or point["kind"] != "message_added"]
        output.rows_of(_TOKEN_COLUMNS, wanted)


def _split_lines(answer: TokenTimeline, points: Iterable[TokenPoint]) -> Iterator[tuple[object, ...]]:
    """Yields a line for each call, and one for the sum."""
    for point in points:
        if point["kind"] == "llm_called":
            yield (point["seq"], point["model"], point["context"], *_split_cells(point.get("split")))
    yield ("sum", None, None, *_split_cells(answer["totals"].get("split")))


def _split_cells(split: TokenSplit | None) -> tuple[object, ...]:
    numbers = cast(dict[str, Any], split or {})
    return tuple(numbers.get(name) for name in (*_SPLIT_PARTS, "basis"))


def _print_totals(answer: TokenTimeline) -> None:
    totals = {name: value for name, value in answer["totals"].items() if name not in ("split", "compressed")}
    facts: dict[str, Any] = {"run": answer["run"], **totals}
    compressed = answer["totals"]["compressed"]
    if compressed["compressions"]:
        unknown = f" (of {compressed['unknown']} it is not known)" if compressed["unknown"] else ""
        facts["saved by compressions"] = f"{_number(compressed['saved'])} tokens{unknown}"
        facts["their summaries"] = (
            f"{compressed['summary_calls']} calls, {_number(compressed['summary_input_tokens'])} tokens read and "
            f"{_number(compressed['summary_output_tokens'])} written, cost {_number(compressed['summary_cost'])}"
        )
    if answer["totals"]["cost"] is not None:
        facts["cost"] = (
            f"{answer['totals']['cost']:.6f} {answer['prices']['currency']} (prices of {answer['prices']['date']})"
        )
    for model in answer["models"]:
        scale = model["calibration"]
        rests_on = f"estimates x {scale['factor']} by {scale['calls']} calls of the {scale['scope']}" if scale else None
        parts = filter(None, [f"limit {model['limit']}" if model["limit"] else "limit unknown", rests_on])
        facts[f"model {model['model']}"] = "; ".join(parts)
    output.facts(facts)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


# Rows are pairs of a seq and a compression.
_COMPRESSED_COLUMNS: output.Columns[tuple[int, CompressionTokens]] = (
    ("compressed", lambda pair: pair[0]),
    ("strategy", lambda pair: pair[1]["strategy"]),
    ("origin", lambda pair: pair[1]["origin"]),
    ("trigger", lambda pair: pair[1]["trigger"]),
    ("note", lambda pair: pair[1]["note"]),
    ("fallback", lambda pair: pair[1]["fallback"]),
    ("saved", lambda pair: pair[1]["saved"]),
    ("summary by", lambda pair: ", ".join(map(str, pair[1]["summary_calls"]))),
    ("summary cost", lambda pair: pair[1]["summary_cost"]),
)
_TOKEN_COLUMNS: output.Columns[TokenPoint] = (
    ("seq", lambda point: point["seq"]),
    ("kind", lambda point: point["kind"]),
    ("role", lambda point: point["role"]),
    ("added", lambda point: point["added"]),
    ("context", lambda point: point["context"]),
    ("of limit", lambda point: None if point["ratio"] is None else f"{point['ratio']:.1%}"),
    ("level", lambda point: point["level"]),
    ("basis", lambda point: point["added_basis"] or point["context_basis"]),
    ("cost", lambda point: None if point["cost"] is None else f"{point['cost']:.6f}"),
)
