"""`playhead doctor`: settings in force and their sources, misspelt variables, collector, journal, libraries.

It says whether the collector answers and takes records, whether the journal can be written to, which installed
libraries are instrumented, and which calls several instrumentations would record.
"""

import difflib
import importlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from operator import itemgetter
from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress
from playhead.cli.options import Json
from playhead.errors import JournalUnusable, NotAuthorized, PlayheadError, SettingInvalid
from playhead.model.instrumentations import FAMILIES, family_of
from playhead.settings import sdk as settings

Line = dict[str, str]

_PREFIX = "PLAYHEAD_"
# Variables in no table of settings: those with which `playhead resume` instructs the program that it starts, and the
# folder of the tests' data.
_WITHOUT_SETTING = (
    "PLAYHEAD_RESUME",
    "PLAYHEAD_REWIND",
    "PLAYHEAD_RUN_PID",
    "PLAYHEAD_RUN_REPORT",
    "PLAYHEAD_TRAJECTORIES",
)
_TAKES_RECORDS = "yes"
_COLUMNS: output.Columns[Line] = [(name, itemgetter(name)) for name in ("of", "setting", "value", "from")]


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
        from playhead.launch import command as launch  # noqa: PLC0415 - only for this

        raise typer.Exit(launch.report(command))
    tables = {"client": _client_settings(), "SDK": settings.in_force(), "collector": _collector_settings()}
    lines = [_setting_line(of, entry) for of, table in tables.items() for entry in table]
    lines += _destination_lines()
    journal, unusable = _journal_line()
    sending = _sending_line()
    lines += [journal, _refused_records_line(), sending]
    lines += libraries(settings.load().prefer)
    known_variables = {line["setting"] for line in lines} | {*_WITHOUT_SETTING, *_variables_of_options(ctx)}
    unknown = list(unknown_variables(os.environ, known_variables))
    problem = _reach_collector(ctx.ensure_object(CollectorAddress), lines)
    if isinstance(problem, NotAuthorized) and sending["value"] == _TAKES_RECORDS:
        problem = None  # a key for sending need not be one for reading
    if json:
        output.as_json({"settings": lines, "unknown": unknown, "reachable": problem is None})
    else:
        output.rows_of(_COLUMNS, lines)
        for entry in unknown:
            meant = f": did you mean {entry['meant']}?" if entry["meant"] else ""
            output.echo(f"playhead: nothing reads the variable {entry['variable']}{meant}", err=True)
    if problem is not None or unusable is not None:
        raise problem or unusable or AssertionError


def unknown_variables(environ: Mapping[str, str], known_variables: Iterable[str]) -> Iterable[dict[str, str | None]]:
    """Yields variables that begin with PLAYHEAD_ and that nothing reads, each with the name of the most similar
    setting, or None."""
    names = sorted(known_variables)
    for variable in sorted(environ):
        if variable.startswith(_PREFIX) and variable not in names:
            meant = difflib.get_close_matches(variable, names, n=1, cutoff=0.8)
            yield {"variable": variable, "meant": meant[0] if meant else None}


def _variables_of_options(ctx: typer.Context) -> Iterable[str]:
    """Yields the variables of all commands' options: PLAYHEAD_, the command, the option."""
    root: Any = ctx.find_root()
    for name, command in root.command.commands.items():
        for option in command.params:
            yield f"{_PREFIX}{name}_{option.name}".upper().replace("-", "_")
            yield from [option.envvar] if isinstance(option.envvar, str) else option.envvar or ()


def _reach_collector(collector: CollectorAddress, lines: list[Line]) -> PlayheadError | None:
    """Requests one run from the collector. Adds a line with the result; returns the error, None without one."""
    if collector.url is None and settings.load().endpoint is None:
        lines.append({"of": "collector", "setting": "reachable", "value": "there is none", "from": ""})
        return None
    url, took, problem = "", time.perf_counter(), None
    try:
        with collector.ask_collector() as client:
            url = client.base_url
            list(client.runs(limit=1))
        outcome = f"yes, in {(time.perf_counter() - took) * 1000:.0f} ms"
    except NotAuthorized as error:
        outcome, problem = f"yes, but it refuses the key (PLAYHEAD_API_KEY): {error}", error
    except PlayheadError as error:
        outcome, problem = "no", error
    lines.append({"of": "collector", "setting": "reachable", "value": outcome, "from": url})
    lines += [] if problem else _not_understood_lines(collector)
    return problem


def _not_understood_lines(collector: CollectorAddress) -> list[Line]:
    """Returns a line for each instrumentation scope with content that the collector stored without understanding it."""
    try:
        with collector.ask_collector() as client:
            scopes = client.scopes()["not_understood"]
    except PlayheadError:  # an older collector has no such operation
        return []
    text = "taken without understanding its content: spans and log events"
    return [
        {"of": "scope", "setting": scope["scope"], "value": f"{text}: {scope['count']}", "from": client.base_url}
        for scope in scopes
    ]


def _journal_line() -> tuple[Line, PlayheadError | None]:
    """Returns a line that says whether the journal's folder can be written to or made, and the error; None without
    one."""
    folder = settings.load().journal_dir
    there = next(path for path in (folder, *folder.parents) if path.exists())
    usable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    line = {"of": "SDK", "setting": "journal", "value": "can be written to" if usable else "cannot be written to"}
    problem = JournalUnusable(
        f"the journal cannot be kept in {folder}: set PLAYHEAD_JOURNAL_DIR to a folder that this program may write to"
    )
    return {**line, "from": str(folder)}, None if usable else problem


def _sending_line() -> Line:
    """Returns a line that says whether the collector takes records with the program's key. Sends an empty request."""
    from playhead.export.counters import ShipCounters  # noqa: PLC0415 - `--help` does without an HTTP library
    from playhead.export.http import CollectorEndpoint, RequestRejected  # noqa: PLC0415
    from playhead.wire.retries import Unavailable  # noqa: PLC0415

    in_force = settings.load()
    if in_force.endpoint is None:
        return {"of": "SDK", "setting": "takes records", "value": "there is none", "from": "none"}
    endpoint = CollectorEndpoint(in_force, ShipCounters())
    outcome = _TAKES_RECORDS
    try:
        endpoint.post("/v1/traces", b"", "application/x-protobuf")
    except (Unavailable, RequestRejected) as error:
        outcome = f"no: {error}"
    finally:
        endpoint.close()
    return {"of": "SDK", "setting": "takes records", "value": outcome, "from": endpoint.shown}


def _refused_records_line() -> Line:
    """Returns a line with the number of records that the collector refused, and how to send them again."""
    from playhead.export.dead_letters import FOLDER, count_letters  # noqa: PLC0415 - `--help` does without

    folder = settings.load().journal_dir
    count = count_letters(folder)
    value = f"{count} (send them again with `playhead ship --dead-letters`)" if count else "0"
    return {"of": "SDK", "setting": "refused records", "value": value, "from": str(folder / FOLDER)}


def _setting_line(of: str, entry: Any) -> Line:
    return {
        "of": of, "setting": entry.setting.env, "value": entry.setting.shown(entry.value), "from": entry.source,
    }  # fmt: skip


def _client_settings() -> Any:
    from playhead.client.responses import in_force  # noqa: PLC0415 - `--help` does without an HTTP library

    return in_force(os.environ)


def _destination_lines() -> list[Line]:
    """Returns lines for the variables of the destinations to which a collector forwards. Users choose the names of
    these variables."""
    try:
        from playhead_collector import destination_settings  # noqa: PLC0415 - the collector is an extra

        variables = destination_settings.variables(os.environ)
        return [{"of": "forward", "setting": name, "value": value, "from": "environment"} for name, value in variables]
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


# --- installed libraries and their instrumentations -------------------------------------------------------------------

# The last part of an instrumentor's module -> the library, where they differ.
_LIBRARY_OF = {
    "openai_v2": "openai", "openai_agents": "agents", "openai_agents_v2": "agents", "langchain": "langchain_core",
    "bedrock": "botocore", "google_genai": "google.genai", "google_generativeai": "google.genai",
}  # fmt: skip
_DISABLED_VARIABLE = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"


def libraries(prefer: str) -> Iterator[Line]:
    """Yields a line for each installed library that Playhead instruments. `prefer`: the instrumentation whose record of
    a call counts."""
    from playhead.capture.registry import LIBRARIES  # noqa: PLC0415 - `--help` does without
    from playhead.capture.supported import installed_version  # noqa: PLC0415

    others = _other_instrumentors()
    for library, path in LIBRARIES.items():
        if find_spec(library.partition(".")[0]) is None or find_spec(library) is None:
            continue
        installed = installed_version(str(importlib.import_module(path).SUPPORTS))
        if installed is None:  # a module of that name that is not the library
            continue
        supported = installed.is_supported
        ours = "recorded" if supported else f"not recorded: this needs {installed.requirement}; update it"
        yield {
            "of": "library", "setting": f"{library} {installed.version}",
            "value": "; ".join([ours, *_seen_twice(others.get(library, {}), prefer if supported else "")]),
            "from": f"playhead-{library}",
        }  # fmt: skip


def _seen_twice(others: dict[str, list[str]], prefer: str) -> Iterator[str]:
    """Yields notes: which other instrumentations can record the same calls, which one counts, and how to switch one
    off."""
    if not others:
        return
    recorders = [f"{family} ({', '.join(others[family])})" for family in FAMILIES if family in others]
    yield f"also by {', '.join(recorders)} where these are on"
    if prefer:
        counted = prefer if prefer in others else FAMILIES[0]
        switch_off = f"to switch one off: {_DISABLED_VARIABLE}, or uninstall it"
        yield f"each call is counted once, by {counted} (PLAYHEAD_PREFER); {switch_off}"


def _other_instrumentors() -> dict[str, dict[str, list[str]]]:
    """Returns library → family → distributions with an instrumentor for it."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - see `libraries`

    by_library: dict[str, dict[str, list[str]]] = {}
    for entry in entry_points(group="opentelemetry_instrumentor"):
        module, distribution = entry.value.partition(":")[0], entry.dist
        family, last = family_of(module), module.rpartition(".")[2]
        if family is not None and distribution is not None:
            named = f"{distribution.name} {distribution.version}"
            by_library.setdefault(_LIBRARY_OF.get(last, last), {}).setdefault(family, []).append(named)
    return by_library
