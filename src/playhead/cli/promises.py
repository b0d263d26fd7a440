"""Commands for promises (what runs wait for): promises, approve, deny, answer, interrupt."""

import getpass
import json as json_module
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, is_run_id
from playhead.cli.options import Json, Run
from playhead.client.promises import Promises, open_promise_at
from playhead.errors import CollectorUnreachable, Conflict, NotFound, PlayheadError
from playhead.journal.promises import PromiseFiles
from playhead.model import promises as p
from playhead.settings.sdk import load
from playhead.wire.operations.promises import Promise

if TYPE_CHECKING:
    from playhead.client.operations import BlockingClient

Id = Annotated[str, typer.Argument(help="The promise's id, or the beginning of one.", show_default=False)]
By = Annotated[str | None, typer.Option(help="Who answers; default: your user name.", show_default=False)]
Reason = Annotated[str | None, typer.Option(help="Why.", show_default=False)]
Key = Annotated[
    str | None, typer.Option(help="The key of what may be answered before it is asked.", show_default=False)
]


def promises(
    ctx: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Those with an answer, too.")] = False,
    json: Json = False,
) -> None:
    """List what runs wait for: approvals, answers of people, events."""
    listing = [promise for promise in _store(ctx).listed(answered=every) if promise["kind"] != p.INTERRUPT]
    output.list_as(json, listing, _COLUMNS)


def approve(
    ctx: typer.Context,
    promise: Annotated[str | None, typer.Argument(help="The promise's id, or the beginning of one.")] = None,
    by: By = None,
    reason: Reason = None,
    key: Key = None,
    action: Annotated[str | None, typer.Option(help="With --key: the action as the program words it.")] = None,
    details: Annotated[str | None, typer.Option(help="With --key: its details, as JSON.")] = None,
) -> None:
    """Approve of what a run wants to do. With --key and --action also before it asks."""
    from playhead.api.promises.answering import unasked  # noqa: PLC0415 - `--help` does without recording

    if key is not None and action is not None:
        parsed_details = None if details is None else _json(details)
        promise = p.approval_id(key, action, parsed_details)
        new_promise = unasked(promise, p.APPROVAL, key=key, action=action, details=parsed_details)
    else:
        new_promise = None
    _answer(ctx, promise, p.APPROVED, by=by, reason=reason, new_promise=new_promise)


def deny(ctx: typer.Context, promise: Id, by: By = None, reason: Reason = None) -> None:
    """Refuse what a run wants to do."""
    _answer(ctx, promise, p.DENIED, by=by, reason=reason)


def answer(
    ctx: typer.Context,
    promise: Annotated[
        str, typer.Argument(help="The promise's id or the beginning of one; with --key an event's name.")
    ],
    value: Annotated[str, typer.Argument(help="The answer: JSON, or else a text.")],
    by: By = None,
    reason: Reason = None,
    key: Key = None,
) -> None:
    """Answer a question of a run, or tell of an event that runs wait for, also before they do."""
    from playhead.api.promises.answering import unasked  # noqa: PLC0415 - see `approve`

    new_promise = None
    if key is not None:
        new_promise = unasked(p.event_id(promise, key), p.EVENT, key=key, name=promise)
        promise = new_promise["id"]
    _answer(ctx, promise, p.ANSWERED, value=_value(value), by=by, reason=reason, new_promise=new_promise)


def interrupt(ctx: typer.Context, run: Run, reason: Reason = None, by: By = None) -> None:
    """Ask a run to stop at its next call of a model or tool; `playhead resume` goes on with it."""
    from playhead.api.promises.asking import interrupt_of  # noqa: PLC0415 - see `approve`

    address = ctx.ensure_object(CollectorAddress)
    if not _is_local(ctx):
        try:
            with address.ask_collector() as client:
                run_id = _going_on(client, run)
                open_promise_at(client, interrupt_of(run_id, reason, by or _user()))
            output.echo(f"asked to stop at its next call: {run_id}")
            return
        except CollectorUnreachable as error:
            _say_local(error)
    with replace(address, is_local=True).ask() as client:
        run_id = _going_on(client, run)
    _files().open(interrupt_of(run_id, reason, by or _user()))
    output.echo(f"asked to stop at its next call: {run_id}")


def _going_on(client: "BlockingClient", run: str) -> str:
    """Returns the id of the run with this name. Raises Conflict if it has ended."""
    try:
        detail = client.run(run)
    except NotFound:
        if is_run_id(run):  # it may have begun just now
            return run
        raise
    if detail["status"] != "running":
        raise Conflict(f"run {detail['run']} has ended ({detail['status']}): only a run that goes on can be stopped")
    return detail["run"]


def _is_local(ctx: typer.Context) -> bool:
    """Whether to use only promises in this machine's journal."""
    return ctx.ensure_object(CollectorAddress).asks_journal


def _store(ctx: typer.Context) -> Promises:
    """Returns the promises in this machine's journal and, unless `_is_local`, those of the collector."""
    address = ctx.ensure_object(CollectorAddress)
    return Promises(_files(), None if address.asks_journal else address.ask_collector, on_unreachable=_say_local)


def _answer(
    ctx: typer.Context,
    promise: str | None,
    outcome: object,
    *,
    value: object = None,
    by: str | None,
    reason: str | None,
    new_promise: Promise | None = None,
) -> None:
    if promise is None:
        raise typer.BadParameter("name a promise, or --key and --action")
    from playhead.api.promises.answering import whole_id  # noqa: PLC0415 - see `approve`
    from playhead.api.promises.waiting import answer_of  # noqa: PLC0415

    store = _store(ctx)
    if new_promise is None:
        promise = whole_id(store, promise)
    store.decide(promise, answer_of(outcome, value, by or _user(), reason), new_promise)
    output.echo(f"{outcome}: {promise}")


def _reply(promise: Promise) -> str | None:
    answer = promise["answer"]
    return None if answer is None else f"{answer['outcome']} by {answer['by'] or 'somebody'}"


_COLUMNS: output.Columns[Promise] = (
    ("id", lambda promise: promise["id"][:8]),
    ("kind", lambda promise: promise["kind"]),
    ("asked", lambda promise: promise["created"][:19]),
    ("what", lambda promise: promise["action"] or f"{promise['name']} {promise['key']}"),
    ("risk", lambda promise: promise["risk"]),
    ("details", lambda promise: None if promise["details"] is None else output.compact(promise["details"])),
    ("run", lambda promise: (promise["run"] or "")[-8:] or None),
    ("answer", _reply),
)


def _files() -> PromiseFiles:
    settings = load()
    return PromiseFiles(settings.journal_dir, settings.promise_keep_seconds)


def _value(text: str) -> Any:
    try:
        return json_module.loads(text)
    except ValueError:
        return text


def _json(text: str) -> Any:
    try:
        return json_module.loads(text)
    except ValueError as error:
        raise PlayheadError(
            f"--details {text!r} is not JSON ({error}): write it as the program's details would be"
        ) from error


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without a name for its user
        return "command line"


def _say_local(error: CollectorUnreachable) -> None:
    output.echo(f"{error}; only this machine's journal is read", err=True)
