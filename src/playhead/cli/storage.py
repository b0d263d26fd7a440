"""Commands for stored data: `playhead storage` shows its amounts; `delete` deletes a run, and `gc` content that no run
refers to any more.
"""

from collections.abc import Iterator
from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import Json, Run
from playhead.wire.operations.storage import Amount, Storage, StorageSizes


def storage(ctx: typer.Context, json: Json = False) -> None:
    """Say how much is stored, by kind, and the inline bytes that it stands for; ~ marks estimates."""
    with ctx.ensure_object(CollectorAddress).ask_collector() as client:
        answer = client.storage()
    if json:
        output.as_json(answer)
        return
    output.facts(_storage_facts(answer))
    output.table(("kind", "rows", "bytes", "indexes"), _kind_rows(answer["project"]))


def _storage_facts(answer: Storage) -> dict[str, object]:
    project, database = answer["project"], answer["database"]
    inline = project["inline_bytes"]
    return {
        "contents": _count_text(project["contents"]),
        "their size": _size_text(project["content_bytes"]),
        "inline": f"{_size_text(inline)} (from {project['sampled_runs']} runs)",
        "stored": f"{_size_text(project['bytes'])}, indexes {_size_text(project['index_bytes'])}",
        "whole database": f"{_size_text(database['bytes'])}, indexes {_size_text(database['index_bytes'])}",
    }


def _kind_rows(sizes: StorageSizes) -> Iterator[tuple[str, ...]]:
    for kind, amounts in sizes["kinds"].items():
        yield (
            kind.replace("_", " "),
            _count_text(amounts["rows"]),
            _size_text(amounts["bytes"]),
            _size_text(amounts["index_bytes"]),
        )


def _count_text(number: Amount) -> str:
    return "unknown" if number["value"] is None else f"{'' if number['exact'] else '~'}{number['value']:,}"


def _size_text(number: Amount) -> str:
    if number["value"] is None:
        return "unknown"
    text = "" if number["exact"] else "~"
    text += output.size(number["value"])
    if number["low"] is not None and number["high"] is not None:
        text += f" ({output.size(number['low'])} to {output.size(number['high'])})"
    return text


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
