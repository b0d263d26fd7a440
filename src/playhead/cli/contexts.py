"""Commands for the contexts of a run: `playhead tokens` and `playhead compressions`.

`tokens` shows their sizes and costs, `compressions` the messages that were dropped from them, and the facts in these
that were needed later.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, cast

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import MOMENT, Json, Limit, Run, first_rows, note_if_more
from playhead.model.message import Message
from playhead.wire.operations import TokenPoint, TokenTimeline
from playhead.wire.operations.compression import Compression, CompressionAudit, ContextMessage, FactNeeded
from playhead.wire.operations.tokens import TokenSplit

# --- playhead compressions --------------------------------------------------------------------------------------------


def compressions(
    ctx: typer.Context,
    run: Run,
    seq: Annotated[str | None, typer.Argument(help=f"{MOMENT}.", show_default=False)] = None,
    limit: Limit = 1_000,
    json: Json = False,
) -> None:
    """List where the context lost messages; with SEQ, show what went, which facts, and which were needed later."""
    with ctx.ensure_object(CollectorAddress).ask() as client:
        full_id = run_id(client, run)
        audit = client.compression(full_id, seq) if seq is not None else None
        rows = (
            first_rows(ctx, "compressions", client.compressions(full_id, limit=limit + 1), limit)
            if audit is None
            else []
        )
    if json:
        output.as_json(audit or rows)
    elif audit is not None:
        _print_audit(audit)
    else:
        columns = ("seq", "time", "actor", "strategy", "origin", "messages", "kept", "summarised", "dropped", "tokens")
        output.table(columns, map(_compression_line, rows))


def _compression_line(row: Compression) -> tuple[object, ...]:
    counts, tokens = row["messages"], row["tokens"]
    changed = None if tokens["saved"] is None else f"{tokens['before']} to {tokens['after']}"
    cells = (f"{counts['before']} to {counts['after']}", counts["kept"], counts["summarised"], counts["dropped"])
    return (row["seq"], row["time"][11:23], row["actor"], row["strategy"], row["origin"], *cells, changed)


def _print_audit(audit: CompressionAudit) -> None:
    names = ("run", "seq", "actor", "origin", "strategy", "strength", "rule", "reason", "call", "messages", "tokens")
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
    output.table(("fate", "seq", "role", "message"), (_lost_message_line(fate, message) for fate, message in gone))
    typer.echo()
    rows = (
        (fact["kind"], fact["text"], fact["label"], _seqs(fact["quotes"]), _needs(fact["needed"]))
        for fact in audit["lost"]
    )
    output.table(("lost", "fact", "called", "said at", "needed later"), rows)
    typer.echo()
    kept = (
        (fact["kind"], fact["text"], fact["label"], _seqs(fact["quotes"]), [kept["where"] for kept in fact["kept_in"]])
        for fact in audit["preserved"]
    )
    output.table(("preserved", "fact", "called", "said at", "stands in"), kept)


def _lost_message_line(fate: str, message: ContextMessage) -> tuple[object, ...]:
    return (
        fate,
        message["seq"],
        message["role"],
        output.shortened(output.message_text(cast(Message | None, message.get("value")))),
    )


def _seqs(quotes: Iterable[Any]) -> str:
    return ", ".join(dict.fromkeys(str(message["seq"]) for message in quotes))


def _needs(needs: Iterable[FactNeeded]) -> str:
    return "; ".join(
        f"{need['how']} at {need['seq']}" + (f": {need['value']}" if need["value"] else "") for need in needs
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
    with ctx.ensure_object(CollectorAddress).ask() as client:
        full_id = run_id(client, run)
        answer = client.tokens(full_id, limit=min(limit, _POINTS_PER_PAGE), split=split)
        points, cursor = answer["items"], answer["next_cursor"]
        while cursor and len(points) < limit:
            page = client.tokens(full_id, limit=min(limit - len(points), _POINTS_PER_PAGE), cursor=cursor, split=split)
            points, cursor = [*points, *page["items"]], page["next_cursor"]
        answer["items"], answer["next_cursor"] = points, cursor
        note_if_more(ctx, "points", limit, is_more=cursor is not None)
    if json:
        output.as_json(answer)
        return
    _print_totals(answer)
    typer.echo()
    if split:
        output.table(("seq", "model", "context", *_SPLIT_PARTS, "basis"), _split_lines(answer, points))
        return
    wanted = [point for point in points if not calls or point["kind"] != "message_added"]
    output.table(
        ("seq", "kind", "role", "added", "context", "of limit", "level", "basis", "cost"), map(_token_line, wanted)
    )


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
    totals = {name: value for name, value in answer["totals"].items() if name != "split"}
    facts: dict[str, Any] = {"run": answer["run"], **totals}
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


def _token_line(point: TokenPoint) -> tuple[object, ...]:
    ratio = None if point["ratio"] is None else f"{point['ratio']:.1%}"
    basis = point["added_basis"] or point["context_basis"]
    numbers = (point["added"], point["context"], ratio, point["level"], basis, point["cost"])
    return (point["seq"], point["kind"], point["role"], *numbers)
