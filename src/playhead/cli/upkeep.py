"""Commands for a collector's database as a whole: `playhead backup`, `restore` and `scrub`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.start import collector_part

Folder = Annotated[Path, typer.Argument(help="The folder of the backup.", show_default=False, file_okay=False)]
DataDir = Annotated[
    str | None,
    typer.Option(
        help="Data folder of the embedded Postgres. (PLAYHEAD_DATA_DIR)", show_default=False, show_envvar=False
    ),
]
DatabaseUrl = Annotated[
    str | None, typer.Option(help="The database. (PLAYHEAD_DATABASE_URL)", show_default=False, show_envvar=False)
]


def backup(folder: Folder, data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Save the database into a new folder; collectors go on meanwhile."""
    about = _of_database("backup", data_dir, database_url, folder)
    output.facts({"saved to": folder, "schema": about["schema"], "created": about["created"]})


def restore(folder: Folder, data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Restore a backup into an empty data folder or database."""
    about = _of_database("restore", data_dir, database_url, folder)
    output.facts({"restored from": folder, "schema": about["schema"], "created": about["created"]})


def scrub(data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Take what was deleted out of Postgres' files; stop all collectors first."""
    _of_database("scrub", data_dir, database_url)
    output.echo("the files of the database have nothing any more of what was deleted")


def _of_database(name: str, data_dir: str | None, database_url: str | None, *arguments: Path) -> Any:
    upkeep = collector_part("upkeep")
    settings = collector_part("settings")
    errors = collector_part("errors")
    work: Callable[..., Any] = getattr(upkeep, name)
    try:
        return work(settings.load(data_dir=data_dir, database_url=database_url), *arguments)
    except errors.CollectorError as error:
        output.echo(f"playhead: {error}", err=True)
        raise typer.Exit(2 if isinstance(error, errors.BadSetting) else 1) from None
