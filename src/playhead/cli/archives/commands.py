"""`playhead export` and `playhead import`: their arguments. The code that does the work is imported when a command
runs."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from playhead.archive.documents import Format
from playhead.cli.connection import CollectorAddress, complete_run
from playhead.cli.options import Json, OfAgent, OfSession, OfTag, OfUser, Since, Until, parse_time_option
from playhead.errors import SettingInvalid

# Exit code if some of the data was not imported.
_LEFT_OUT = 4
# Default folder for exported sessions of the journal.
_SESSIONS = "playhead-sessions"

Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUN]...",
        help="Runs: ids, unique parts of ids, or `last`.",
        show_default=False,
        autocompletion=complete_run,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="A folder that is made, or a file: .tar, .tar.gz or .tar.zst; of a test, the file. With --local a folder, "
        "which may be there.",
        show_default=False,
    ),
]
As = Annotated[
    Literal["files", "test"],
    typer.Option("--as", help="test: one run as a pytest file, in which a mock model gives the recorded answers."),
]


def export(
    ctx: typer.Context,
    output_path: Output = None,
    runs: Runs = None,
    form: As = "files",
    everything: Annotated[bool, typer.Option("--all", help="Export all runs.")] = False,
    agent: OfAgent = None,
    session: OfSession = None,
    user: OfUser = None,
    tag: OfTag = None,
    since: Since = None,
    until: Until = None,
    parents: Annotated[
        bool, typer.Option("--parents/--no-parents", help="With a fork, also the run that it was made from.")
    ] = True,
    forks: Annotated[bool, typer.Option("--forks", help="Also the forks of these runs.")] = False,
    force: Annotated[bool, typer.Option("--force", help="With --as test, write over a file that exists.")] = False,
    json: Json = False,
) -> None:
    """Write runs to files: OTLP JSON lines, and contents under their digests.  `playhead import` reads them.

    With `--local`, the sessions of this machine's journal as JSON Lines instead: a file for each session, in a folder
    of the day on which it began. A file that is there gets the lines that it lacks.

    With `--as test`, one run becomes a test of the program: a mock model gives the recorded answers, and the agent has
    to make the same tool calls and to end with the same answer.
    """
    conditions = {"agent": agent, "session": session, "user": user, "tag": tag}
    where: dict[str, Any] = {name: value for name, value in conditions.items() if value is not None}
    where |= {
        name: time
        for name, time in (("since", parse_time_option(since)), ("until", parse_time_option(until)))
        if time is not None
    }
    address = ctx.ensure_object(CollectorAddress)
    is_local = form == "files" and address.asks_journal
    if bool(runs) + everything + bool(where) != 1 and not (is_local and not (runs or everything or where)):
        raise SettingInvalid("say what to export in one way: RUN, --all, or conditions such as --agent")
    if is_local:
        from playhead.cli.archives.local_export import export_sessions  # noqa: PLC0415 - `--help` does without

        export_sessions(address, output_path or Path(_SESSIONS), runs or (), where, json=json)
        return
    from playhead.cli.archives.exporting import export_runs, export_test  # noqa: PLC0415 - `--help` has no HTTP library

    if form == "test":
        if runs is None or len(runs) != 1:
            raise SettingInvalid("a test is made of one run: playhead export RUN --as test")
        export_test(address, runs[0], output_path, force=force)
        return
    if output_path is None:
        raise SettingInvalid("say where to write: --output FOLDER, or a file such as runs.tar.gz")
    export_runs(address, output_path, runs or (), where, parents=parents and not everything, forks=forks, json=json)


def import_files(
    ctx: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, or folders.", show_default=False)],
    format: Annotated[  # noqa: A002 - the option's name
        Format | None, typer.Option(help="The files' format; by default, each file tells.", show_default=False)
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin at the start, also if it was interrupted.")] = False,
    max_record_bytes: Annotated[
        int, typer.Option(min=1024, help="Largest line or request to read: it is held in memory.")
    ] = 256 * 1024 * 1024,
    json: Json = False,
) -> None:
    """Read exports and OTLP files into the collector; what it has already changes nothing.

    Reads what `playhead export` writes, OTLP as JSON lines or protobuf (also .gz and .zst), and exports of Phoenix and
    Langfuse.  If it is interrupted, the same command goes on.  Exits with 4 if something was left out.
    """
    from playhead.cli.archives.importing import import_into  # noqa: PLC0415 - `--help` does without an HTTP library

    address = ctx.ensure_object(CollectorAddress)
    if not import_into(address, paths, format, max_record_bytes, restart=restart, json=json):
        raise typer.Exit(_LEFT_OUT)
