"""Commands for stored data: `playhead storage` shows its amounts, `contents` the largest contents;
`delete` deletes a run, and `gc` content that no run refers to any more.
"""

from typing import Annotated, Literal

import typer

from playhead.cli import output
from playhead.cli.connection import ask_collector, run_id
from playhead.cli.options import Json, Limit, Run, first_rows, parse_time_option
from playhead.cli.retention import print_upcoming
from playhead.wire.operations.storage import (
    LARGEST_SMALL,
    Amount,
    Collected,
    ContentTotals,
    DeletedRuns,
    ListedContent,
    Storage,
    StoredContentKind,
    StoredKind,
)

OfKind = Annotated[
    StoredContentKind | None, typer.Option("--kind", help="Only contents that are this.", show_default=False)
]


def storage(
    ctx: typer.Context,
    kind: OfKind = None,
    tier: Annotated[
        Literal["hot", "warm"] | None,
        typer.Option(help="Only contents in this tier: hot is Postgres, warm the object store.", show_default=False),
    ] = None,
    before: Annotated[
        str | None, typer.Option(help="Only contents stored before: 30d (ago), 2026-01-31.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Say how much is stored, by kind, the inline bytes that it stands for, and what goes when; ~ marks estimates.

    --kind, --tier and --before select the contents that are counted by what they are, tier and age.
    """
    with ask_collector(ctx) as client:
        answer = client.storage(kind=kind, tier=tier, before=parse_time_option(before))
        upcoming = [] if json else client.retention()["upcoming"]
    output.answer_as(json, answer, _print_storage)
    print_upcoming(upcoming)


def _print_storage(answer: Storage) -> None:
    project = answer["project"]
    output.facts(_storage_facts(answer))
    output.rows_of(_KIND_COLUMNS, project["kinds"].items())
    for name, totals in (("content", project["by_kind"]), ("tier", project["by_tier"]), ("stored", project["by_age"])):
        output.rows_of(_totals_columns(name), totals.items())


def contents(
    ctx: typer.Context,
    kind: OfKind = None,
    larger: Annotated[
        int, typer.Option(min=LARGEST_SMALL, help="Only contents of more than so many bytes.")
    ] = LARGEST_SMALL,
    limit: Limit = 50,
    json: Json = False,
) -> None:
    """List the largest contents, and what they are.  Those up to 32 KiB are packed together, and not listed."""
    with ask_collector(ctx) as client:
        found = list(client.large_contents(kind=kind, larger=larger, limit=limit + 1))
    output.list_as(json, first_rows(ctx, "contents", found, limit), _CONTENT_COLUMNS)


def _storage_facts(answer: Storage) -> dict[str, object]:
    project, database = answer["project"], answer["database"]
    inline = project["inline_bytes"]
    facts: dict[str, object] = {
        "contents": _count_text(project["contents"]),
        "their size": _size_text(project["content_bytes"]),
        "inline": f"{_size_text(inline)} (from {project['sampled_runs']} runs)",
        "stored": f"{_size_text(project['bytes'])}, indexes {_size_text(project['index_bytes'])}",
    }
    if database is not None:
        facts["whole database"] = f"{_size_text(database['bytes'])}, indexes {_size_text(database['index_bytes'])}"
    return facts


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


# Rows are pairs of a kind of stored data and its amounts.
_KIND_COLUMNS: output.Columns[tuple[str, StoredKind]] = (
    ("kind", lambda pair: pair[0].replace("_", " ")),
    ("rows", lambda pair: _count_text(pair[1]["rows"])),
    ("bytes", lambda pair: _size_text(pair[1]["bytes"])),
    ("indexes", lambda pair: _size_text(pair[1]["index_bytes"])),
)


def _totals_columns(name: str) -> output.Columns[tuple[str, ContentTotals]]:
    return (
        (name, lambda pair: pair[0].replace("_", " ")),
        ("contents", lambda pair: _count_text(pair[1]["contents"])),
        ("bytes", lambda pair: _size_text(pair[1]["bytes"])),
        ("stored", lambda pair: _size_text(pair[1]["stored_bytes"])),
        ("tokens", lambda pair: _count_text(pair[1]["tokens"])),
    )


_CONTENT_COLUMNS: output.Columns[ListedContent] = (
    ("content", lambda content: content["ref"]),
    ("kind", lambda content: content["kind"].replace("_", " ")),
    ("bytes", lambda content: output.size(content["size"])),
    ("stored", lambda content: output.size(content["stored_bytes"])),
    ("tokens", lambda content: "" if content["tokens"] is None else f"~{content['tokens']:,}"),
    ("first stored", lambda content: content["first_stored"] or ""),
    ("last named", lambda content: content["last_named"]),
)


def delete(
    ctx: typer.Context,
    run: Run,
    forks: Annotated[bool, typer.Option("--forks", help="Delete the runs that were forked from it, too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Delete a run for good.  Its content goes after a grace period, unless other runs name it."""
    with ask_collector(ctx) as client:
        about = client.run(run_id(client, run))
        named = (
            f"run {about['run']} ({about['name'] or 'without a name'}, {about['status']}, {about['started'][:19]} UTC)"
        )
        if not yes:
            target = f"{named} and all its forks" if forks else named
            typer.confirm(f"Delete {output.visible(target)} for good?", abort=True, err=True)
        answer = client.delete_run(about["run"], forks=forks)
    output.answer_as(json, answer, _print_deleted)


def _print_deleted(answer: DeletedRuns) -> None:
    for deleted_run in answer["deleted"]:
        output.echo(f"deleted {deleted_run}")


def gc(ctx: typer.Context, json: Json = False) -> None:
    """Delete content now that no run names any more and that is older than the grace period; `serve` does it, too."""
    with ask_collector(ctx) as client:
        answer = client.collect_garbage()
        while answer["phase"] is not None:
            answer = client.collect_garbage()
    output.answer_as(json, answer, _print_collected)


def _print_collected(answer: Collected) -> None:
    output.facts({"contents deleted": answer["contents"], "thread nodes deleted": answer["thread_nodes"]})
