"""The commands that do something: start a collector, show what this is about, deliver what was left, look around."""

import importlib
import inspect
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from playhead import settings
from playhead.cli import shown
from playhead.cli.asking import Collector
from playhead.errors import PlayheadError, SettingInvalid

Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def register(app: typer.Typer) -> None:
    """Adds the commands, in the order in which --help lists them."""
    app.command("serve", help="Start a collector: on your Postgres, or on one that is started for you.")(_serve())
    for command in (demo, ship, doctor):
        app.command()(command)


def _serve() -> Callable[..., None]:
    """`serve`, with an option for each line of the collector's table of settings."""

    def serve(json: bool, **options: Any) -> None:
        raise typer.Exit(_collector("cli").serve(as_json=json, **options))

    made: Any = serve
    as_json = inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
    made.__signature__ = inspect.Signature([*map(_option, _table()), as_json])
    return serve


def _option(line: Any) -> inspect.Parameter:
    # The settings read the environment themselves, so that they can say where a value comes from.
    help_text = f"{line.help} ({line.env})"
    option = typer.Option("--" + line.field.replace("_", "-"), help=help_text, show_default=False, show_envvar=False)
    return inspect.Parameter(
        line.field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


def demo(
    trajectories: Annotated[
        Path | None,
        typer.Option(help="A folder of recorded runs to play through, and to check.", show_default=False),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many of them.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Record a small agent that talks to a model server of its own, and look at what was recorded.

    With --trajectories: play recorded runs (OpenAI-form messages) through the same path, and compare the context of
    every model call with the record; exits with 1 if one differs.
    """
    _collector("cli")
    demos = importlib.import_module("playhead.demo")
    if trajectories is None and (limit is not None or json):
        raise SettingInvalid("--limit and --json are for recorded runs: add --trajectories FOLDER")
    raise typer.Exit(demos.run_demo() if trajectories is None else demos.run_trajectories(trajectories, limit, json))


def ship(
    journal_dir: Annotated[
        Path | None, typer.Option(envvar="PLAYHEAD_JOURNAL_DIR", help="The journal's folder.", show_default=False)
    ] = None,
    dead_letters: Annotated[
        bool, typer.Option("--dead-letters", help="Send again, too, what the collector refused before.")
    ] = False,
    json: Json = False,
) -> None:
    """Send what dead processes left in their journals.  Exits with 3 while anything is left or refused."""
    from playhead.export.orphans import ship_orphans  # noqa: PLC0415 - `--help` does without an HTTP library

    report = ship_orphans(journal_dir, letters=dead_letters)
    facts = {name: getattr(report, name) for name in report.__slots__}
    if json:
        shown.as_json(facts)
    else:
        shown.facts(facts)
    if report.left or report.dead_letters:
        raise typer.Exit(3)


def doctor(ctx: typer.Context, json: Json = False) -> None:
    """Say which settings are in force, where each comes from, and whether the collector can be reached."""
    lines = [
        *_in_force("client", _asking()),
        *_in_force("SDK", settings.in_force()),
        *_in_force("collector", _theirs()),
    ]
    lines.append(_refused_records())
    problem = _reach(ctx.ensure_object(Collector), lines)
    if json:
        shown.as_json({"settings": lines, "reachable": problem is None})
    else:
        shown.table(("of", "setting", "value", "from"), [list(line.values()) for line in lines])
    if problem is not None:
        raise problem


def _reach(collector: Collector, lines: list[dict[str, str]]) -> PlayheadError | None:
    """Asks for one run, and notes how that went."""
    url, took = "", time.perf_counter()
    try:
        with collector.ask() as client:
            url = client.base_url
            list(client.runs(limit=1))
    except PlayheadError as error:
        lines.append({"of": "collector", "setting": "reachable", "value": "no", "from": url})
        return error
    said = f"yes, in {(time.perf_counter() - took) * 1000:.0f} ms"
    lines.append({"of": "collector", "setting": "reachable", "value": said, "from": url})
    return None


def _refused_records() -> dict[str, str]:
    """What the collector would not take, and how to send it again."""
    from playhead.export.dead_letters import FOLDER, count_letters  # noqa: PLC0415 - `--help` does without

    folder = settings.load().journal_dir
    count = count_letters(folder)
    value = f"{count} (send them again with `playhead ship --dead-letters`)" if count else "0"
    return {"of": "SDK", "setting": "refused records", "value": value, "from": str(folder / FOLDER)}


def _in_force(of: str, lines: Any) -> list[dict[str, str]]:
    return [
        {"of": of, "setting": line.setting.env, "value": line.setting.shown(line.value), "from": line.source}
        for line in lines
    ]


def _asking() -> Any:
    from playhead.client.exchange import in_force  # noqa: PLC0415 - `--help` does without an HTTP library

    return in_force(os.environ)


def _theirs() -> Any:
    try:
        return importlib.import_module("playhead_collector.settings").in_force()
    except ImportError:
        return ()
    except Exception as error:
        raise SettingInvalid(str(error)) from error


def _table() -> Any:
    try:
        return importlib.import_module("playhead_collector.settings").table()
    except ImportError:
        return ()


def _collector(part: str) -> Any:
    """A part of the collector, which is an extra.  Raises SettingInvalid, saying how to install it."""
    try:
        return importlib.import_module(f"playhead_collector.{part}")
    except ImportError as error:
        if (error.name or "playhead").startswith("playhead"):
            raise  # not an extra that is missing: ours to mend
        what = f"this needs the collector, and {error.name or 'a part of it'} is not installed"
        raise SettingInvalid(f'{what}: pip install "playhead[collector]"') from error
