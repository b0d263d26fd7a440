"""Renders docs/reference.md from the tables that the program itself reads; `tests/test_docs.py` holds it current."""

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from playhead.client.responses import ClientSettings
from playhead.model import names
from playhead.model.event import EVENT_TYPES
from playhead.settings import sdk as sdk_settings
from playhead.settings.table import STOP, table_of
from playhead_collector import destination_settings
from playhead_collector import settings as collector_settings

HEAD = """# Reference

Every setting, command, route, event kind and attribute. This page is written from the tables in the code; a test fails
when it is not current (`pytest tests/test_docs.py --write-golden` writes it anew).
"""


_RESUME = """`PLAYHEAD_RESUME=RUN` makes the first run of a program go on from the record of that run, as
`playhead resume` does (which tells the program so in `PLAYHEAD_REWIND`). `PLAYHEAD_RESUME_ON_DIVERGENCE`
(raise, live), `PLAYHEAD_RESUME_COMPLETED` (raise, reuse, rerun), `PLAYHEAD_RESUME_IN_DOUBT` (raise, rerun),
`PLAYHEAD_RESUME_LIVE` (all, llm), `PLAYHEAD_RESUME_TOOLS` (deny), `PLAYHEAD_RESUME_OTHER_PROCESSES` (raise, rerun) and
`PLAYHEAD_RESUME_UNRECORDED` (raise, rerun) are its options. `playhead run` tells a program in `PLAYHEAD_RUN_PID` that
it has started it, and `playhead doctor -- COMMAND` in `PLAYHEAD_RUN_REPORT` that it has to report at its end.
`PLAYHEAD_CHECK_EFFECTS` and `PLAYHEAD_CHECK_KILL_IN_AUDIT` tell the tools of an agent whose framework's
[capture is checked](extending.md) where to note what they do, and where to end the process.
`PLAYHEAD_TRAJECTORIES` names the folder of recorded runs that this project's own tests and benchmarks use.
"""
_INVALID = """A program goes on recording when one of these variables cannot be read: a warning says so, and it has its
default, or `false` where that records less (`PLAYHEAD_CAPTURE_CONTENT`, `PLAYHEAD_CAPTURE_REASONING`,
`PLAYHEAD_RECORD_OTHERS`). Nothing is recorded, and `playhead.flush()` is false, when that variable is
{stops}.
Options of `playhead.configure` and commands refuse what cannot be read.
"""


_OPTIONS = """The client reads `PLAYHEAD_API_KEY`, too. Every option of a command is also a variable: `PLAYHEAD_`, the
command and the option in capitals, for example `PLAYHEAD_EVENTS_LIMIT=20`.
"""


_DESTINATIONS = """## Settings of destinations

What the collector forwards, and where: [forwarding](forwarding.md). Variables may name several destinations of a kind:
`PLAYHEAD_FORWARD_OTLP_EAST_URL` and `PLAYHEAD_FORWARD_OTLP_WEST_URL`. In the file that `PLAYHEAD_FORWARD_FILE` names,
the settings are the last part of these names in small letters.
"""


def reference(commands: Iterable[tuple[str, str]], routes: Iterable[tuple[str, str, str]]) -> str:
    """The whole page."""
    parts = [HEAD, "## Settings of the SDK\n", _settings(sdk_settings.table())]
    parts += [
        _INVALID.format(stops=_stops()),
        _RESUME,
        "## Settings of the client and the command\n",
        _settings(table_of(ClientSettings)),
    ]
    parts += [_OPTIONS, "## Settings of the collector\n", _settings(collector_settings.table())]
    parts += [_DESTINATIONS, *_of_destinations()]
    parts += ["## Commands\n", _table(("command", "what it does"), [(f"`playhead {c}`", h) for c, h in commands])]
    parts += ["## Routes\n", _table(("route", "answers"), [(f"`{m} {p}`", h) for m, p, h in routes])]
    parts += ["## Event kinds\n", _table(("kind", "priority", "what happened"), _events())]
    parts += ["## Attributes and log events\n", _table(("name", "meaning"), _attributes())]
    return "\n".join(parts)


def _settings(lines: Iterable[sdk_settings.Setting]) -> str:
    rows = [(f"`{line.env}`", _default(line), line.help, line.kind.accepts) for line in lines]
    return _table(("variable", "default", "meaning", "accepts"), rows)


def _stops() -> str:
    *most, last = [f"`{line.env}`" for line in sdk_settings.table() if line.if_invalid is STOP]
    return f"{', '.join(most)} or {last}"


def _of_destinations() -> Iterable[str]:
    for kind, settings in destination_settings.KINDS.items():
        prefix = f"{destination_settings.PREFIX}{kind.upper()}_"
        yield _settings([replace(line, env=prefix + line.env) for line in table_of(settings)])


def _default(line: sdk_settings.Setting) -> str:
    if callable(line.default):
        return "" if line.default is dict else "the user's folder for such data"
    shown = ", ".join(line.default) if isinstance(line.default, tuple) else line.default
    return "" if shown in (None, "") else f"`{shown}`"


def _events() -> list[tuple[str, str, str]]:
    return [
        (f"`{kind}`", cls.priority, " ".join((inspect.getdoc(cls) or "").split())) for kind, cls in EVENT_TYPES.items()
    ]


def _attributes() -> list[tuple[str, str]]:
    """Each attribute with its meaning: the comment behind its name, or the lines directly above it."""
    constants = {key: value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)}
    meanings = meanings_in(Path(names.__file__).read_text(encoding="utf-8"))
    named = sorted((value, key) for key, value in constants.items() if "." in value)
    return [(f"`{value}`", _with_attributes(meanings[key], constants)) for value, key in named]


def meanings_in(module: str) -> dict[str, str]:
    """The comment of each constant of a module: that behind it, else the lines directly above it; empty if none."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in module.splitlines():
        if comment := re.match(r"# (?!---)(.+)", line):
            above.append(comment[1])
            continue
        if constant := re.match(r"([A-Z_]+)\b[^#]*(?:# (.+))?", line):
            found[constant[1]] = constant[2] or " ".join(above)
        above = []
    return found


def _with_attributes(meaning: str, constants: Mapping[str, str]) -> str:
    """A comment with attributes in place of the names of constants, as a cell: no capital, no full stop."""
    text = re.sub(
        r"\b[A-Z_]{4,}\b", lambda word: f"`{constants[word[0]]}`" if word[0] in constants else word[0], meaning
    )
    text = text if text.endswith("...") else text.removesuffix(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [" | ".join(head), "|".join("---" for _ in head)]
    lines += [" | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    return "\n".join(f"| {line} |" if "---" not in line else f"|{line}|" for line in lines) + "\n"
