"""`playhead doctor`: settings in force and where each comes from, misspelt variables, whether the collector answers."""

import difflib
import os
import time
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress
from playhead.cli.operate.instrumented import libraries
from playhead.cli.options import Json
from playhead.errors import JournalUnusable, NotAuthorized, PlayheadError, SettingInvalid
from playhead.launch import command as launch
from playhead.settings import sdk as settings

_OURS = "PLAYHEAD_"
# Read by no table: how `playhead resume` tells the program that it starts what to do, and where tests find their data.
_OTHERS = ("PLAYHEAD_RESUME", "PLAYHEAD_REWIND", "PLAYHEAD_RUN_PID", "PLAYHEAD_RUN_REPORT", "PLAYHEAD_TRAJECTORIES")
_TAKEN = "yes"
Line = dict[str, str]


def doctor(
    ctx: typer.Context,
    json: Json = False,
    command: Annotated[list[str] | None, typer.Argument(help="A program, after --: see above.")] = None,
) -> None:
    """Say which settings are in force, where each comes from, whether the journal can be written to, whether the
    collector takes records and answers questions, and which libraries are recorded, also by others.

    `playhead doctor -- python app.py` starts the program as `playhead run` does. When it ends, it says on standard
    error what was instrumented in it, by whom, and which calls several instrumentations have seen."""
    if command:
        raise typer.Exit(launch.report(command))
    tables = {"client": _client_settings(), "SDK": settings.in_force(), "collector": _collector_settings()}
    lines = [_line(of, each) for of, table in tables.items() for each in table]
    lines += _destinations()
    journal, unusable = _journal()
    sending = _sending()
    lines += [journal, _refused_records(), sending]
    lines += libraries(settings.load().prefer)
    known = {line["setting"] for line in lines} | {*_OTHERS, *_of_commands(ctx)}
    unknown = list(unknown_variables(os.environ, known))
    problem = _reach(ctx.ensure_object(CollectorAddress), lines)
    if isinstance(problem, NotAuthorized) and sending["value"] == _TAKEN:
        problem = None  # a program's key need not be one for questions
    if json:
        output.as_json({"settings": lines, "unknown": unknown, "reachable": problem is None})
    else:
        output.table(("of", "setting", "value", "from"), [list(line.values()) for line in lines])
        for each in unknown:
            meant = f": did you mean {each['meant']}?" if each["meant"] else ""
            output.echo(f"playhead: nothing reads the variable {each['variable']}{meant}", err=True)
    if problem is not None or unusable is not None:
        raise problem or unusable or AssertionError


def unknown_variables(environ: Mapping[str, str], known: Iterable[str]) -> Iterable[dict[str, str | None]]:
    """Variables that look like ours and that nothing reads, each with the setting that it resembles most, or None."""
    names = sorted(known)
    for variable in sorted(environ):
        if variable.startswith(_OURS) and variable not in names:
            meant = difflib.get_close_matches(variable, names, n=1, cutoff=0.8)
            yield {"variable": variable, "meant": meant[0] if meant else None}


def _of_commands(ctx: typer.Context) -> Iterable[str]:
    """The variables of all commands' options: PLAYHEAD_, the command, the option."""
    root: Any = ctx.find_root()
    for name, command in root.command.commands.items():
        for option in command.params:
            yield f"{_OURS}{name}_{option.name}".upper().replace("-", "_")
            yield from [option.envvar] if isinstance(option.envvar, str) else option.envvar or ()


def _reach(collector: CollectorAddress, lines: list[Line]) -> PlayheadError | None:
    """Asks for one run, and notes how that went."""
    if collector.url is None and settings.load().endpoint is None:
        lines.append({"of": "collector", "setting": "reachable", "value": "there is none", "from": ""})
        return None
    url, took, problem = "", time.perf_counter(), None
    try:
        with collector.ask_collector() as client:
            url = client.base_url
            list(client.runs(limit=1))
        said = f"yes, in {(time.perf_counter() - took) * 1000:.0f} ms"
    except NotAuthorized as error:
        said, problem = f"yes, but it refuses the key (PLAYHEAD_API_KEY): {error}", error
    except PlayheadError as error:
        said, problem = "no", error
    lines.append({"of": "collector", "setting": "reachable", "value": said, "from": url})
    lines += [] if problem else _not_understood(collector)
    return problem


def _not_understood(collector: CollectorAddress) -> list[Line]:
    """A line for each instrumentation scope that the collector took without understanding its content."""
    try:
        with collector.ask_collector() as client:
            scopes = client.scopes()["not_understood"]
    except PlayheadError:  # an older collector has no such question
        return []
    said = "taken without understanding its content: spans and log events"
    return [
        {"of": "scope", "setting": each["scope"], "value": f"{said}: {each['count']}", "from": client.base_url}
        for each in scopes
    ]


def _journal() -> tuple[Line, PlayheadError | None]:
    """Whether the journal's folder can be written to, or made."""
    folder = settings.load().journal_dir
    there = next(each for each in (folder, *folder.parents) if each.exists())
    usable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    line = {"of": "SDK", "setting": "journal", "value": "can be written to" if usable else "cannot be written to"}
    problem = JournalUnusable(
        f"the journal cannot be kept in {folder}: set PLAYHEAD_JOURNAL_DIR to a folder that this program may write to"
    )
    return {**line, "from": str(folder)}, None if usable else problem


def _sending() -> Line:
    """Whether the collector that programs send to takes records with their key: it is sent none."""
    from playhead.export.backoff import Unavailable  # noqa: PLC0415
    from playhead.export.counters import ShipCounters  # noqa: PLC0415 - `--help` does without an HTTP library
    from playhead.export.http import CollectorEndpoint, RequestRejected  # noqa: PLC0415

    in_force = settings.load()
    if in_force.endpoint is None:
        return {"of": "SDK", "setting": "takes records", "value": "there is none", "from": "none"}
    endpoint = CollectorEndpoint(in_force, ShipCounters())
    said = _TAKEN
    try:
        endpoint.post("/v1/traces", b"", "application/x-protobuf")
    except (Unavailable, RequestRejected) as error:
        said = f"no: {error}"
    finally:
        endpoint.close()
    return {"of": "SDK", "setting": "takes records", "value": said, "from": endpoint.shown}


def _refused_records() -> Line:
    """What the collector would not take, and how to send it again."""
    from playhead.export.dead_letters import FOLDER, count_letters  # noqa: PLC0415 - `--help` does without

    folder = settings.load().journal_dir
    count = count_letters(folder)
    value = f"{count} (send them again with `playhead ship --dead-letters`)" if count else "0"
    return {"of": "SDK", "setting": "refused records", "value": value, "from": str(folder / FOLDER)}


def _line(of: str, each: Any) -> Line:
    return {
        "of": of, "setting": each.setting.env, "value": each.setting.shown(each.value), "from": each.source,
    }  # fmt: skip


def _client_settings() -> Any:
    from playhead.client.exchange import in_force  # noqa: PLC0415 - `--help` does without an HTTP library

    return in_force(os.environ)


def _destinations() -> list[Line]:
    """The variables that say what a collector forwards where; they have names of their users' choice."""
    try:
        from playhead_collector import destination_settings  # noqa: PLC0415 - the collector is an extra

        found = destination_settings.variables(os.environ)
        return [{"of": "forward", "setting": name, "value": value, "from": "environment"} for name, value in found]
    except ImportError:
        return []
    except Exception as error:
        raise SettingInvalid(str(error)) from error


def _collector_settings() -> Any:
    try:
        from playhead_collector import settings as collector_settings  # noqa: PLC0415 - the collector is an extra

        return collector_settings.in_force()
    except ImportError:
        return ()
    except Exception as error:
        raise SettingInvalid(str(error)) from error
