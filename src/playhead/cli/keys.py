"""`playhead keys`: API keys, and what each may do."""

import re
from enum import StrEnum
from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import ask_collector
from playhead.cli.options import Json
from playhead.errors import NotFound, SettingInvalid
from playhead.wire.operations.keys import Key, NewKey
from playhead.wire.operations.operation import Scope as KeyScope

app = typer.Typer(
    no_args_is_help=True,
    help="Make, list and revoke the collector's keys. Once there is one, every request needs one.",
)
Project = Annotated[
    str | None, typer.Option(help="Whose key, for the operator; default: PLAYHEAD_PROJECT.", show_default=False)
]
_SPAN = re.compile(r"(\d{1,6})\s*([hdw])")
_SECONDS = {"h": 3_600, "d": 86_400, "w": 7 * 86_400}


class Scope(StrEnum):
    """What an API key may do."""

    INGEST = "ingest"
    READ = "read"
    ADMIN = "admin"


@app.command()
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What people know it by.")],
    scope: Annotated[
        list[Scope] | None,
        typer.Option(help="ingest: send; read: ask; admin: keys and deletion. May be repeated; default: ingest."),
    ] = None,
    expires: Annotated[str | None, typer.Option(help="It expires after: 12h, 90d, 52w.", show_default=False)] = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Make a key, and print it: it cannot be shown again."""
    scopes: list[KeyScope] = [choice.value for choice in scope or [Scope.INGEST]]
    with ask_collector(ctx, project=project) as client:
        made = client.create_key(name, scopes, expires_seconds=_seconds(expires))
    output.answer_as(json, made, _print_new_key)


def _print_new_key(made: NewKey) -> None:
    typer.echo(made["key"])
    about = made["about"]
    until = f"until {about['expires'][:19]} UTC" if about["expires"] else "until it is revoked"
    output.echo(f"key {about['id']} ({about['name']}) may {', '.join(about['scopes'])} {until}", err=True)


@app.command(name="list")
def list_keys(ctx: typer.Context, project: Project = None, json: Json = False) -> None:
    """List the keys by their beginnings."""
    with ask_collector(ctx, project=project) as client:
        keys = client.keys()["items"]
    output.list_as(json, keys, _COLUMNS)


_COLUMNS: output.Columns[Key] = (
    ("id", lambda key: str(key["id"])),
    ("name", lambda key: key["name"]),
    ("key", lambda key: f"{key['prefix']}..."),
    ("scopes", lambda key: ", ".join(key["scopes"])),
    ("created", lambda key: key["created"][:10]),
    ("expires", lambda key: (key["expires"] or "never")[:10]),
    ("last used", lambda key: (key["last_used"] or "never")[:13]),
)


@app.command()
def revoke(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(help="Its id, name, or beginning.")],
    project: Project = None,
) -> None:
    """Revoke a key: it is refused within seconds."""
    with ask_collector(ctx, project=project) as client:
        matches = [
            entry
            for entry in client.keys()["items"]
            if key in (str(entry["id"]), entry["name"]) or key.startswith(entry["prefix"])
        ]
        if len(matches) != 1:
            raise NotFound(f"{len(matches)} keys are {key!r}: give the id of one, which `playhead keys list` shows")
        client.revoke_key(matches[0]["id"])
    output.echo(f"revoked {matches[0]['id']} ({matches[0]['name']})")


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    shape = _SPAN.fullmatch(text.strip().lower())
    if shape is None or int(shape[1]) == 0:
        raise SettingInvalid(f"--expires is {text!r}: give a number of hours, days or weeks: 12h, 90d, 52w")
    return float(shape[1]) * _SECONDS[shape[2]]
