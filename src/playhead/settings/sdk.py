"""Settings of the SDK: one table, read once by `configure`.

`PLAYHEAD_ENDPOINT` says where spans go. Without it, OpenTelemetry's variables are read: they often name another
collector, so they count only if a Playhead collector answers there (see `export.http`).
"""

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from playhead.errors import CollectorUnreachable, SettingInvalid
from playhead.model.instrumentations import FAMILIES
from playhead.model.names import PROJECT_HEADER, VALUE_KINDS
from playhead.model.objects.masking import DEFAULT_KEYS
from playhead.settings import table as s
from playhead.settings.table import (
    MIB,
    STOP,
    InForce,
    InvalidSettingValue,
    Setting,
    default_of,
    in_force_of,
    setting,
    table_of,
)

# --- kinds of values --------------------------------------------------------------------------------------------------

# An hour: a failed program can still be inspected and resumed. 30 days: payloads are not kept for ever.
MIN_SECONDS, MAX_SECONDS = 3_600.0, 2_592_000.0


def retention_seconds(value: object) -> int:
    """Converts seconds or a timedelta to whole seconds, rounded up. Raises TypeError, and ValueError out of bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, float, timedelta)):
        raise TypeError
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise ValueError
    return ceil(seconds)


RETENTION = s.ValueKind(
    "a number of seconds, from 3600 (an hour) to 2592000 (30 days)", lambda text: float(retention_seconds(float(text)))
)


def _read_headers(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [item.partition("=") for item in text.split(",") if item.strip()]
    headers = tuple((name.strip().lower(), unquote(value.strip())) for name, _, value in pairs)
    # Checked here: an invalid header would fail only with the first request, and then end all sending.
    if not all(equals for _, equals, _ in pairs) or not all(map(_is_header, headers)):
        raise ValueError
    return headers


def _is_header(header: tuple[str, str]) -> bool:
    name, value = header
    return _HEADER_NAME.fullmatch(name) is not None and value.isascii() and value.isprintable()


def _read_value_kinds(text: str) -> tuple[str, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not set(VALUE_KINDS).issuperset(words):
        raise ValueError
    return tuple(words)


def _read_module_names(text: str) -> tuple[str, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not all(part.isidentifier() for word in words for part in word.split(".")):
        raise ValueError
    return tuple(words)


def read_function_names(text: str) -> tuple[str, ...]:
    """Parses names such as `module:function` and `module:Class.method` with commas between them. Raises ValueError."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        module, colon, path = word.partition(":")
        if not colon or not all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
            raise ValueError
    return tuple(dict.fromkeys(words))


def _read_keys(text: str) -> tuple[str, ...]:
    return () if text == "none" else tuple(word.strip() for word in text.split(",") if word.strip())


def _read_share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError
    return share


WEIGHT = s.ValueKind("a whole number from 1000 to 1000000000", s.int_between(1_000, 1_000_000_000))
SHARE = s.ValueKind("a number from 0 to 1", _read_share)
KEYS = s.ValueKind("names with commas between them, or none", _read_keys)
MODULES = s.ValueKind("names of modules or packages with commas between them", _read_module_names)
FUNCTIONS = s.ValueKind(
    "names such as module:function or module:Class.method with commas between them", read_function_names
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _read_collector(text: str) -> str:
    # Other tools' variables may name the path of one signal; ours is the base address of all signals.
    url = str(s.HTTP_URL.read(text))
    for path in ("/v1/traces", "/v1/logs", "/v1/metrics", "/api/v1"):
        url = url.removesuffix(path)
    return url


def _read_collector_or_none(text: str) -> str | None:
    return None if text.lower() == "none" else _read_collector(text)


COLLECTOR_URL = s.ValueKind(s.HTTP_URL.accepts, _read_collector)
ENDPOINT = s.ValueKind(f"{s.HTTP_URL.accepts}, or none", _read_collector_or_none, absent="none")
OTEL_ENDPOINT, OTEL_HEADERS = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"
VALUES = s.ValueKind(f"{', '.join(VALUE_KINDS)}, or some of them with commas between", _read_value_kinds)
EXPORTERS = s.ValueKind("names with commas between them, or none", _read_keys, absent="none")
HEADERS = s.ValueKind("name=value pairs with commas between them", _read_headers)


# --- the settings -----------------------------------------------------------------------------------------------------


def default_journal_dir(platform: str = sys.platform, environ: Mapping[str, str] = os.environ) -> Path:
    """Returns the journal's default folder: where programs of this platform keep state that survives a restart."""
    if platform == "darwin":
        return s.home_folder() / "Library" / "Application Support" / "playhead" / "journal"
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or s.home_folder() / "AppData" / "Local") / "playhead" / "journal"
    named = Path(environ.get("XDG_STATE_HOME", ""))  # XDG: a relative path in this variable is to be ignored
    return (named if named.is_absolute() else s.home_folder() / ".local" / "state") / "playhead" / "journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of the SDK, with the values in force."""

    endpoint: str | None = setting(
        "PLAYHEAD_ENDPOINT",
        "http://127.0.0.1:4318",
        ENDPOINT,
        "the Playhead collector: where spans and content go; none: there is none, and the journal keeps all runs",
        fallback=OTEL_ENDPOINT,
        if_invalid=STOP,
    )
    headers: tuple[tuple[str, str], ...] = setting(
        "PLAYHEAD_HEADERS",
        (),
        HEADERS,
        "headers to send along, name=value,name=value",
        secret=True,
        fallback=OTEL_HEADERS,
        if_invalid=STOP,
    )
    # None: the collector's address, if it was set: the collector has the pages. The default address may have none.
    public_url: str | None = setting(
        "PLAYHEAD_PUBLIC_URL",
        None,
        s.HTTP_URL,
        "where people reach Playhead's pages: spans that go to other backends link to runs there; "
        "else PLAYHEAD_ENDPOINT, if it is set",
    )
    traces_exporter: tuple[str, ...] = setting(
        "OTEL_TRACES_EXPORTER",
        (),
        EXPORTERS,
        "otlp: without a tracer provider of the program, OpenTelemetry's exporter gets spans with refs, too "
        '(`pip install "playhead[otlp]"`); other names mean nothing here',
    )
    disabled: bool = setting("OTEL_SDK_DISABLED", False, s.SWITCH, "true: record nothing", if_invalid=STOP)
    api_key: str | None = setting(
        "PLAYHEAD_API_KEY", None, s.KEY, "the collector's key, if it has one", secret=True, if_invalid=STOP
    )
    # STOP: what is recorded must not go to another tenant than the one that was meant.
    project: str | None = setting(
        "PLAYHEAD_PROJECT", None, s.KEY, "the project of the collector, for its operator: other keys name their own",
        if_invalid=STOP,
    )  # fmt: skip
    # STOP: payloads must not be written to another folder than the one that was meant.
    journal_dir: Path = setting(
        "PLAYHEAD_JOURNAL_DIR",
        default_journal_dir,
        s.FOLDER,
        "where the journal keeps what is not yet delivered",
        if_invalid=STOP,
    )
    durability: Literal["process", "fsync", "off"] = setting(
        "PLAYHEAD_DURABILITY",
        "process",
        s.one_of("process", "fsync", "off"),
        "what a recorded call survives: kill -9 of the process, loss of power (fsync), or neither (off)",
    )
    # 512 MiB: a day of a busy agent whose collector is down, and little compared to the disk of its machine.
    journal_max_bytes: int = setting(
        "PLAYHEAD_JOURNAL_MAX_BYTES",
        512 * MIB,
        s.BYTES,
        "most disk space that the journal may take, for all processes that share its folder",
    )
    # An hour: long enough to resume or inspect a run that has just ended without the collector. Not longer, since the
    # collector has the payloads. Runs that have not ended keep their records.
    journal_keep_seconds: float = setting(
        "PLAYHEAD_JOURNAL_KEEP_SECONDS",
        3600.0,
        RETENTION,
        "how long the journal keeps records once they are delivered and their runs have ended; "
        "`playhead.run(retention=...)` says it for a session",
    )
    # A day: people who work with the journal alone also look at runs that ended yesterday.
    local_keep_seconds: float = setting(
        "PLAYHEAD_LOCAL_KEEP_SECONDS",
        86_400.0,
        RETENTION,
        "how long the journal keeps runs after their end without a collector (PLAYHEAD_ENDPOINT=none), as far as its "
        "limit has room for them",
    )
    # 64 MiB: the collector accepts no more. A larger payload is replaced by a marker: size, digest, first 64 KiB.
    max_content_bytes: int = setting(
        "PLAYHEAD_MAX_CONTENT_BYTES", 64 * MIB, s.BYTES, "largest payload recorded; of a larger one, a marker is"
    )
    # 50,000: a result of this size is read and written in 4 ms, for which the caller waits. The part of a tool's result
    # that a model reads is a tenth of it.
    max_value_size: int = setting(
        "PLAYHEAD_MAX_VALUE_SIZE",
        50_000,
        WEIGHT,
        "largest value recorded whole: a number or text counts 1, a list or dictionary 15 to 50, an object 150; of a "
        "larger one, a sample is recorded",
    )
    # 1 ms: enough for two hundred ordinary `repr`s, and little compared to a call of a model or tool.
    max_value_seconds: float = setting(
        "PLAYHEAD_MAX_VALUE_SECONDS",
        0.001,
        s.SECONDS,
        "how long code of the program (`__repr__`, properties) may take in recording one value before the rest is left "
        "out; a call that has begun is not interrupted",
    )
    # 1 MiB: a picture of the size that models read, or a hundred embeddings; its hash takes a millisecond.
    max_array_bytes: int = setting(
        "PLAYHEAD_MAX_ARRAY_BYTES",
        MIB,
        s.BYTES,
        "largest array, tensor, table or picture recorded whole; of a larger one, type, shape and a sample are. "
        "All of one value together may have three times as much",
    )
    # `if_invalid=False`: a user who sets one of these switches wants to record less, so an invalid text does the same.
    capture_content: bool = setting(
        "PLAYHEAD_CAPTURE_CONTENT",
        True,
        s.SWITCH,
        "false: record calls, but none of what they were given or returned",
        if_invalid=False,
    )
    capture_reasoning: bool = setting(
        "PLAYHEAD_CAPTURE_REASONING", True, s.SWITCH, "false: leave out what models think aloud", if_invalid=False
    )
    # Usual names of credentials in requests, settings and clients. `none`: the program's redaction hook does all of it.
    mask_keys: tuple[str, ...] = setting(
        "PLAYHEAD_MASK_KEYS",
        DEFAULT_KEYS,
        KEYS,
        "keys whose values are masked in recorded objects (not in plain dictionaries), also as the end of a key",
    )
    record: Literal["sampled", "always"] = setting(
        "PLAYHEAD_RECORD", "sampled", s.one_of("sampled", "always"), "always: record runs that the sampler drops, too"
    )
    # playhead: only our record has the exact request, and can answer the call on resume.
    prefer: Literal["playhead", "opentelemetry", "openinference", "openllmetry"] = setting(
        "PLAYHEAD_PREFER",
        "playhead",
        s.one_of(*FAMILIES),
        "whose record of a model call counts when several instrumentations of one library are on",
    )
    # On: otherwise calls that only other instrumentations record would be missing.
    record_others: bool = setting(
        "PLAYHEAD_RECORD_OTHERS",
        True,
        s.SWITCH,
        "false: under `opentelemetry-instrument`, leave content and spans of other GenAI instrumentations alone",
        if_invalid=False,
    )
    # Off: a command may be anything, and its output may be large or secret. So the user has to switch it on.
    record_commands: bool = setting(
        "PLAYHEAD_RECORD_COMMANDS",
        False,
        s.SWITCH,
        "true: where everything is instrumented, record commands that the program starts (`subprocess`) as tools",
        if_invalid=False,
    )
    # None: only the user knows which functions of a program fetch or change something.
    record_tools: tuple[str, ...] = setting(
        "PLAYHEAD_RECORD_TOOLS",
        (),
        FUNCTIONS,
        "where libraries are instrumented, also record these functions of the program or of libraries as tools "
        "(`playhead run --tool`): module:function,module:Class.method",
    )
    # None: each value read costs a record, and a resume returns it instead of the real one. So the user has to want it.
    record_values: tuple[str, ...] = setting(
        "PLAYHEAD_RECORD_VALUES", (), VALUES, "what every run records besides its calls, to be given again on resume"
    )
    # None: a record is data. Importing modules that it names would let its author choose code to run.
    restorable: tuple[str, ...] = setting(
        "PLAYHEAD_RESTORABLE",
        (),
        MODULES,
        "modules and packages that may be imported to restore recorded values of their classes on resume",
    )
    # None besides the known ones: a setting that is not compared may change the answer.
    caller_settings: tuple[str, ...] = setting(
        "PLAYHEAD_CALLER_SETTINGS",
        (),
        KEYS,
        "settings of models that say who asks, besides the known ones: recorded, and not compared on resume",
    )
    # 60 s: a model may think for long; a task that waits between jobs (a bot, a queue's consumer) pauses longer.
    task_run_seconds: float = setting(
        "PLAYHEAD_TASK_RUN_SECONDS",
        60.0,
        s.SECONDS,
        "how far apart calls of one asyncio task may be that are one run without an agent or span around them; 0: none",
    )
    # On: otherwise each call of an agent in a thread pool, or in tasks, would be a run of its own.
    group_calls: bool = setting(
        "PLAYHEAD_GROUP_CALLS",
        True,
        s.SWITCH,
        "false: calls without an agent are not put into runs by what started them (a request, a task of Celery, "
        "asyncio.run) and by what they say (a conversation in a thread)",
    )
    # Join: the caller is usually another program of the same user. A public service also has unknown callers.
    incoming_runs: Literal["join", "link", "ignore"] = setting(
        "PLAYHEAD_INCOMING_RUNS",
        "join",
        s.one_of("join", "link", "ignore"),
        "where a trace context from outside names a run: be a part of it (join), begin a run that names it (link), or "
        "begin one that does not (ignore)",
        if_invalid="ignore",
    )
    # An hour: a job whose caller waits for the result does not wait longer in a queue; nobody waits for a later one.
    join_seconds: float = setting(
        "PLAYHEAD_JOIN_SECONDS",
        3600.0,
        s.SECONDS,
        "how long after it was handed on work may begin to be a part of the run; what begins later is a run of its own",
    )
    # 0.8: the share at which agent frameworks compress by default; above it, one long tool result may not fit any more.
    context_warn: float = setting(
        "PLAYHEAD_CONTEXT_WARN",
        0.8,
        SHARE,
        "warn when a model call's context has this share of what fits into the model; 0: never",
    )
    # None: the windows of common models are known.
    context_windows: tuple[tuple[str, int], ...] = setting(
        "PLAYHEAD_CONTEXT_WINDOWS",
        (),
        s.WINDOWS,
        "how many tokens fit into models, by the beginning of their names: my-model=32768",
    )
    # 30 days: without a collector, people look up decisions within a month.
    promise_keep_seconds: float = setting(
        "PLAYHEAD_PROMISE_KEEP_SECONDS",
        2_592_000.0,
        s.SECONDS,
        "how long the journal keeps promises after they were answered",
    )
    # 1 s: short enough to watch a run live, long enough to send calls together, which compresses well.
    linger_seconds: float = setting(
        "PLAYHEAD_LINGER_SECONDS", 1.0, s.SECONDS, "how long a record may wait for others to travel with"
    )
    # 60 s: longer than most waits for a model, during which a live run sends nothing; with a heartbeat each 20 s, two
    # may be lost. A shorter lease takes a slow run for dead; a longer one delays the resume of a dead machine's run.
    lease_seconds: float = setting(
        "PLAYHEAD_LEASE_SECONDS",
        60.0,
        s.SECONDS,
        "how long a resumed run is kept from other machines after each sign of life",
    )
    # 1 s: parallel branches are further apart only if they wait for something that is not recorded. A changed program
    # waits this long before it gets ReplayDiverged.
    replay_wait_seconds: float = setting(
        "PLAYHEAD_REPLAY_WAIT_SECONDS",
        1.0,
        s.SECONDS,
        "how long a call that a resumed run's record does not have waits for parallel branches before it has diverged",
    )
    # 5 s: an exit that takes longer looks like a hang; what is not delivered by then stays in the journal.
    exit_timeout_seconds: float = setting(
        "PLAYHEAD_EXIT_TIMEOUT_SECONDS", 5.0, s.SECONDS, "how long the program's exit may wait for delivery"
    )

    @property
    def collector_headers(self) -> dict[str, str]:
        """What a request says to the collector about who sends it: the key, and the operator's project."""
        key = {"authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return key | ({PROJECT_HEADER: self.project} if self.project else {})

    @property
    def collector(self) -> str:
        """The collector's address.  Raises CollectorUnreachable if there is no collector."""
        if self.endpoint is None:
            raise CollectorUnreachable("there is no collector (PLAYHEAD_ENDPOINT=none)")
        return self.endpoint

    @property
    def pages_url(self) -> str | None:
        """The address of Playhead's pages, for links, without user and password; None if nobody has named it."""
        is_ours = self.endpoint_is_named and not self.endpoint_is_otel
        url = self.public_url or (self.endpoint if is_ours else None)
        if url is None:
            return None
        scheme, _, rest = url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"

    endpoint_is_otel: bool = False
    """Whether `endpoint` is from OpenTelemetry's variable: then check first that a Playhead collector answers there."""
    endpoint_is_named: bool = False
    """Whether the user set the collector's address; False: it is the default."""


def table() -> tuple[Setting, ...]:
    """Returns all settings, in the order in which to show them."""
    return table_of(Settings)


# --- the values in force ----------------------------------------------------------------------------------------------


def in_force(
    environ: Mapping[str, str] = os.environ, *, on_invalid: Callable[[str], None] | None = None, **options: object
) -> tuple[InForce, ...]:
    """Returns all settings with value and source. `on_invalid`: see `load`. Raises SettingInvalid."""
    try:
        lines = in_force_of(Settings, environ, options, on_invalid)
    except InvalidSettingValue as error:
        raise SettingInvalid(str(error)) from None
    if _source(lines, "endpoint") in {"environment", "option"}:
        # OpenTelemetry's headers may hold the key of OpenTelemetry's endpoint: never send them to another one.
        return tuple(default_of(line.setting) if line.source == OTEL_HEADERS else line for line in lines)
    return lines


def load(
    environ: Mapping[str, str] = os.environ, *, on_invalid: Callable[[str], None] | None = None, **options: object
) -> Settings:
    """Returns the settings in force; `options` take precedence over the environment.

    `on_invalid`: called with a sentence about each invalid variable, which then has its default (or the value that
    records less). Programs that record give it, so that a misspelt variable does not stop them. Raises SettingInvalid;
    with `on_invalid` only for options, and for variables that say whether and where to record.
    """
    lines = in_force(environ, on_invalid=on_invalid, **options)
    source = _source(lines, "endpoint")
    return Settings(
        **{line.setting.field: line.value for line in lines},
        endpoint_is_otel=source == OTEL_ENDPOINT,
        endpoint_is_named=source in {"environment", "option", OTEL_ENDPOINT},
    )


def _source(lines: tuple[InForce, ...], field: str) -> str:
    return next(line.source for line in lines if line.setting.field == field)
