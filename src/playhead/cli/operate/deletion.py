"""`playhead delete` and `playhead gc`: delete runs, and content that no run refers to any more."""

from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import Json, Run


def delete(
    ctx: typer.Context,
    run: Run,
    forks: Annotated[bool, typer.Option("--forks", help="Delete the runs that were forked from it, too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Delete a run for good.  Its content goes after a grace period, unless other runs name it."""
    with ctx.ensure_object(CollectorAddress).ask_collector() as client:
        about = client.run(run_id(client, run))
        named = (
            f"run {about['run']} ({about['name'] or 'without a name'}, {about['status']}, {about['started'][:19]} UTC)"
        )
        if not yes:
            target = f"{named} and all its forks" if forks else named
            typer.confirm(f"Delete {output.visible(target)} for good?", abort=True, err=True)
        answer = client.delete_run(about["run"], forks=forks)
    if json:
        output.as_json(answer)
        return
    for deleted_run in answer["deleted"]:
        output.echo(f"deleted {deleted_run}")


def gc(ctx: typer.Context, json: Json = False) -> None:
    """Delete content now that no run names any more and that is older than the grace period; `serve` does it, too."""
    with ctx.ensure_object(CollectorAddress).ask_collector() as client:
        answer = client.collect_garbage()
        while answer["phase"] is not None:
            answer = client.collect_garbage()
    if json:
        output.as_json(answer)
    else:
        output.facts({"contents deleted": answer["contents"], "thread nodes deleted": answer["thread_nodes"]})
