"""`playhead suspects`: the steps of a failed run that most likely went wrong."""

from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import ask, run_id
from playhead.cli.options import Json, Limit, Run
from playhead.wire.operations.suspects import ComparedSiblings, RerankedSuspect, RerankedSuspects, Suspect, Suspects

# A model may think for minutes before it begins to answer.
_RERANK_SECONDS = 600.0
_TASK = (
    "What runs of one task have in common: input, session, user, tag:PREFIX; default: tag:task:, of a run without such "
    "a tag input."
)
_OUTCOME = (
    "When a run has succeeded: a score as NAME, NAME=VALUE or 'NAME>=0.5'; default: the score by which this run has "
    "failed (its newest, if that is false or below 0.5), without any the status."
)


def suspects(
    ctx: typer.Context,
    run: Run,
    sibling: Annotated[
        list[str] | None,
        typer.Option(
            help="A run of the same task that succeeded, to compare with; may be repeated.", show_default=False
        ),
    ] = None,
    task: Annotated[str | None, typer.Option(help=_TASK, show_default=False)] = None,
    outcome: Annotated[str | None, typer.Option(help=_OUTCOME, show_default=False)] = None,
    find_siblings: Annotated[
        bool, typer.Option(help="Look for succeeded runs of the same task when no --sibling is given.")
    ] = True,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Also ask the collector's model in which order it would suspect them.")
    ] = False,
    limit: Limit = 10,
    json: Json = False,
) -> None:
    """Rank the steps of a failed run that most likely went wrong, each with its evidence."""
    with ask(ctx, _RERANK_SECONDS) if rerank else ask(ctx) as client:
        full_id = run_id(client, run)
        others = [run_id(client, other) for other in sibling or ()]
        beside: Any = {"siblings": others, "task": task, "outcome": outcome, "find_siblings": find_siblings}
        opinion = client.rerank_suspects(full_id, **beside) if rerank else None
        answer = opinion["computed"] if opinion else client.suspects(full_id, **beside, limit=limit)
    if opinion is not None:
        output.answer_as(json, opinion, _print_reranked)
    else:
        output.answer_as(json, answer, _print_suspects)


def _print_reranked(opinion: RerankedSuspects) -> None:
    _print_suspects(opinion["computed"])
    output.echo(f"\nin the order of {opinion['model']}, an opinion:")
    output.rows_of(_ORDER_COLUMNS, opinion["order"])


def _print_suspects(answer: Suspects) -> None:
    last = "" if answer["looked_at"] == answer["steps"] else f"the last {answer['looked_at']} of "
    suspected = f"{answer['total']} of {last}{answer['steps']} steps"
    siblings = _siblings(answer["siblings"])
    output.facts({"run": answer["run"], "suspected": suspected, "note": answer["note"], "siblings": siblings})
    for suspect in answer["items"]:
        typer.echo()
        _print_suspect(suspect)


def _siblings(siblings: ComparedSiblings) -> str:
    if siblings["chosen"] == "off":
        return "none were looked for"
    if siblings["chosen"] == "found" and siblings["task"] is None:
        return "none: the run has no task (no input, no tag that begins with task:)"
    runs = ", ".join(siblings["runs"]) or "none"
    if siblings["chosen"] == "named":
        return runs
    more = "; not all runs of the task were looked at" if siblings["more"] else ""
    return f"{runs} (same {siblings['task']}, succeeded by {siblings['outcome']}{more})"


def _print_suspect(suspect: Suspect) -> None:
    output.facts({str(suspect["rank"]): f"seq {suspect['seq']}, turn {suspect['turn']}", "does": suspect["does"]})
    for finding in suspect["findings"]:
        output.echo(f"  {finding['strength']:6}  {finding['rule']}: {finding['reason']}")
        for quote in finding["quotes"]:
            output.echo(f"          {quote['seq'] or '':>4}  {output.shortened(quote['text'])}")


_ORDER_COLUMNS: output.Columns[RerankedSuspect] = (
    ("seq", lambda row: row["seq"]),
    ("computed rank", lambda row: row["computed_rank"]),
    ("why", lambda row: row["why"]),
)
