"""`playhead suspects`: the steps of a failed run that most likely went wrong."""

from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import Json, Limit, Run
from playhead.wire.answers.analysis.suspects import RerankedSuspects, Suspect, Suspects

# A model may think for minutes before it says the first word.
_RERANK_SECONDS = 600.0


def suspects(
    ctx: typer.Context,
    run: Run,
    sibling: Annotated[
        list[str] | None,
        typer.Option(help="A run of the same task that succeeded, to compare with; may be repeated."),
    ] = None,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Also ask the collector's model in which order it would suspect them.")
    ] = False,
    limit: Limit = 10,
    json: Json = False,
) -> None:
    """Rank the steps of a failed run that most likely went wrong, each with its evidence."""
    with ctx.ensure_object(CollectorAddress).ask(*([_RERANK_SECONDS] if rerank else [])) as client:
        found = run_id(client, run)
        others = [run_id(client, other) for other in sibling or ()]
        opinion = client.rerank_suspects(found, siblings=others) if rerank else None
        answer = opinion["computed"] if opinion else client.suspects(found, siblings=others, limit=limit)
    if json:
        output.as_json(opinion or answer)
        return
    _show(answer)
    if opinion is not None:
        _show_order(opinion)


def _show(answer: Suspects) -> None:
    output.facts({"run": answer["run"], "suspected": f"{answer['total']} of {answer['steps']} steps"})
    for suspect in answer["items"]:
        typer.echo()
        _show_suspect(suspect)


def _show_suspect(suspect: Suspect) -> None:
    output.facts({str(suspect["rank"]): f"seq {suspect['seq']}, turn {suspect['turn']}", "does": suspect["does"]})
    for finding in suspect["findings"]:
        typer.echo(output.visible(f"  {finding['strength']:6}  {finding['rule']}: {finding['reason']}"))
        for quote in finding["quotes"]:
            typer.echo(output.visible(f"          {quote['seq'] or '':>4}  {output.shortened(quote['text'])}"))


def _show_order(opinion: RerankedSuspects) -> None:
    typer.echo(f"\nin the order of {output.visible(opinion['model'])}, an opinion:")
    output.table(
        ("seq", "computed rank", "why"), ((row["seq"], row["computed_rank"], row["why"]) for row in opinion["order"])
    )
