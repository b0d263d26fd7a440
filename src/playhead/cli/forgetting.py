"""`playhead forget`: erases a run, or all that a session, a user or a scope has, at the collector or in the journal."""

import time
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress
from playhead.cli.options import Json
from playhead.errors import SettingInvalid
from playhead.settings.sdk import load
from playhead.wire.operations.forgetting import ForgetPreview, Forgetting

if TYPE_CHECKING:
    from playhead.cli.journal_erasure import ErasedFromJournal
    from playhead.client import Client

_POLL_SECONDS = 2.0

By = Literal["run", "session", "user", "scope"]
OfRun = Annotated[str | None, typer.Option("--run", help="Forget this run.", show_default=False)]
OfSession = Annotated[
    str | None,
    typer.Option("--session", help="Forget the runs of this session, and its conversation.", show_default=False),
]
OfUser = Annotated[
    str | None,
    typer.Option(
        "--user", help="Forget the runs of this user, and the conversations that are theirs alone.", show_default=False
    ),
]
OfScope = Annotated[
    str | None,
    typer.Option(
        "--scope", help="Forget the conversations of this scope, and the runs of their sessions.", show_default=False
    ),
]


def forget(
    ctx: typer.Context,
    run: OfRun = None,
    session: OfSession = None,
    user: OfUser = None,
    scope: OfScope = None,
    forks: Annotated[bool, typer.Option("--forks", help="Forget the runs that were forked from these, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be forgotten.")] = False,
    status: Annotated[
        str | None,
        typer.Option("--status", help="How far the request with this id is; `all`: the latest.", show_default=False),
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait until the runs are gone, but for no hour.")] = True,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Erase a run, or all that a session, a user or a scope has, with the contents that nobody else names.

    With --local: in this machine's journal."""
    address = ctx.ensure_object(CollectorAddress)
    if status is not None:
        with address.ask_collector() as client:
            _show_status(client, status, json)
        return
    by, value = _selected(run, session, user, scope)
    if address.asks_journal:
        _forget_here(by, value, dry_run=dry_run, yes=yes, json=json)
        return
    with address.ask_collector() as client:
        if by == "run":
            value = client.run(value)["run"]
        found = client.preview_forgetting(by, value)
        if dry_run:
            output.answer_as(json, found, _print_preview)
            return
        if not yes:
            _print_preview(found)
            _confirm(by, value)
        answer = client.forget(by=by, value=value, forks=forks)
        while wait and answer["phase"] != "done" and answer["contents_until"] is None:
            time.sleep(_POLL_SECONDS)
            answer = client.forgetting(answer["id"])
    output.answer_as(json, answer, _print_forgetting)


def _selected(run: str | None, session: str | None, user: str | None, scope: str | None) -> tuple[By, str]:
    given: list[tuple[By, str | None]] = [("run", run), ("session", session), ("user", user), ("scope", scope)]
    wanted: list[tuple[By, str]] = [(by, value) for by, value in given if value is not None]
    if len(wanted) != 1:
        raise SettingInvalid("say what is to be forgotten: one of --run, --session, --user and --scope")
    return wanted[0]


def _confirm(by: str, value: str) -> None:
    typer.confirm(f"Forget {by} {output.visible(value)} for good?", abort=True, err=True)


def _show_status(client: "Client", job: str, json: bool) -> None:
    if job != "all":
        output.answer_as(json, client.forgetting(job), _print_forgetting)
        return
    columns: output.Columns[Forgetting] = (
        ("id", lambda row: row["id"]),
        ("requested", lambda row: row["requested"][:19]),
        ("phase", lambda row: row["phase"]),
        ("runs", lambda row: row["run_count"]),
        ("contents", lambda row: row["contents"]),
        ("stay", lambda row: row["of_others"]),
        ("rest at", lambda row: row["contents_until"] and row["contents_until"][:19]),
    )
    output.list_as(json, client.forgettings()["items"], columns)


def _print_preview(found: ForgetPreview) -> None:
    output.facts(
        {
            "runs": found["run_count"],
            "forked from them": len(found["forks"]) or None,
            "conversations": found["conversations"],
            "contents named": "many" if found["contents"] is None else found["contents"],
            "forwarded": output.compact(found["forwarded"]) if found["forwarded"] else None,
        }
    )


def _print_forgetting(answer: Forgetting) -> None:
    output.facts(
        {
            "request": answer["id"],
            "phase": answer["phase"],
            "runs forgotten": answer["run_count"],
            "conversations": answer["conversations"],
            "contents erased": f"{answer['contents']} of {answer['candidates']}",
            "others name": answer["of_others"],
            "stored or named again": answer["named_again"] or None,
            "the rest goes at": answer["contents_until"],
            "of several users": len(answer["runs_of_several_users"]) or None,
            "kept for their forks": " ".join(answer["kept_for_forks"]) or None,
            "forwarded": output.compact(answer["forwarded"]) if answer["forwarded"] else None,
        }
    )
    for other in answer["refs_of_others"]:
        output.echo(f"stays {other['ref']}: named by {' '.join(other['runs']) or 'others'}")
    for advice in answer["advice"]:
        output.echo(advice)


def _forget_here(by: By, value: str, *, dry_run: bool, yes: bool, json: bool) -> None:
    from playhead.cli.journal_erasure import erase_from_journal  # noqa: PLC0415 - only for this

    if not dry_run and not yes:
        _confirm(by, value)
    output.answer_as(json, erase_from_journal(load().journal_dir, by, value, dry_run=dry_run), _print_erased)


def _print_erased(answer: "ErasedFromJournal") -> None:
    output.facts({name.replace("_", " "): value for name, value in answer.items() if name != "not_delivered"})
    for lane in answer["not_delivered"]:
        output.echo(
            f"{lane} stays as it is: it is not delivered yet, or its process still records. Run `playhead ship`"
        )
