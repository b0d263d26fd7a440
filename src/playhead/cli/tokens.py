"""`playhead tokens`: sizes and costs of a run's contexts."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, cast

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import Json, Limit, Run, note_more
from playhead.wire.operations import TokenPoint, TokenTimeline
from playhead.wire.operations.tokens import TokenSplit

_PAGE = 1_000
_PARTS = ("system", "tools", "history", "retrieved", "output")


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
        answer = client.tokens(full_id, limit=min(limit, _PAGE), split=split)
        points, cursor = answer["items"], answer["next_cursor"]
        while cursor and len(points) < limit:
            page = client.tokens(full_id, limit=min(limit - len(points), _PAGE), cursor=cursor, split=split)
            points, cursor = [*points, *page["items"]], page["next_cursor"]
        answer["items"], answer["next_cursor"] = points, cursor
        note_more(ctx, "points", limit, is_more=cursor is not None)
    if json:
        output.as_json(answer)
        return
    _totals(answer)
    typer.echo()
    if split:
        output.table(("seq", "model", "context", *_PARTS, "basis"), _split_lines(answer, points))
        return
    wanted = [point for point in points if not calls or point["kind"] != "message_added"]
    output.table(("seq", "kind", "role", "added", "context", "of limit", "level", "basis", "cost"), map(_line, wanted))


def _split_lines(answer: TokenTimeline, points: Iterable[TokenPoint]) -> Iterator[tuple[object, ...]]:
    """Yields a line for each call, and one for the sum."""
    for point in points:
        if point["kind"] == "llm_called":
            parts = _parts(point.get("split"))
            yield (point["seq"], point["model"], point["context"], *parts)
    yield ("sum", None, None, *_parts(answer["totals"].get("split")))


def _parts(split: TokenSplit | None) -> tuple[object, ...]:
    parts = cast(dict[str, Any], split or {})
    return tuple(parts.get(name) for name in (*_PARTS, "basis"))


def _totals(answer: TokenTimeline) -> None:
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


def _line(point: TokenPoint) -> tuple[object, ...]:
    ratio = None if point["ratio"] is None else f"{point['ratio']:.1%}"
    basis = point["added_basis"] or point["context_basis"]
    numbers = (point["added"], point["context"], ratio, point["level"], basis, point["cost"])
    return (point["seq"], point["kind"], point["role"], *numbers)
