"""Settings of forwarding destinations: one table for each kind, read from the environment and a file.

    PLAYHEAD_FORWARD_LANGFUSE_URL           the destination `langfuse`
    PLAYHEAD_FORWARD_OTLP_EAST_URL          the destination `otlp-east`; any name of letters, digits and underscores

In the TOML file that PLAYHEAD_FORWARD_FILE names, each destination is a table `[[destination]]` with `kind`, `name` and
the same settings in small letters.
"""

import base64
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, cast
from urllib.parse import unquote, urlsplit

from playhead.settings import table as s
from playhead.settings.table import KIB, MIB, InvalidSettingValue, Setting, setting, table_of
from playhead_collector.errors import BadSetting

PREFIX = "PLAYHEAD_FORWARD_"
# Settings of the collector that apply to all destinations; a test compares them with the collector's table.
COMMON_VARIABLES = frozenset(
    f"{PREFIX}{suffix}"
    for suffix in ("FILE", "MAX_AGE_SECONDS", "MAX_ITEMS", "CONTENT_WAIT_SECONDS", "SETTLE_SECONDS", "BUSY_SHARE")
)
# A name is used as a label in metrics and as a part of paths. More destinations than this are a mistake in a template.
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,48}[a-z0-9])?", re.ASCII)
_MAX_DESTINATIONS = 20
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_STATUSES = ("completed", "failed", "cancelled")


def _webhook_secret(text: str) -> bytes:
    key = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    if not text.startswith("whsec_") or not 24 <= len(key) <= 64:
        raise ValueError
    return key


# The format of Standard Webhooks, so that receivers can use its libraries.
WEBHOOK_SECRET = s.ValueKind("whsec_ and 24 to 64 random bytes in base64 (openssl rand -base64 32)", _webhook_secret)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _statuses(text: str) -> tuple[str, ...]:
    statuses = _words(text.lower())
    if not set(statuses) <= set(_STATUSES):
        raise ValueError
    return statuses


def _headers(text: str) -> Mapping[str, str]:
    pairs = [pair.partition("=") for pair in _words(text)]
    headers = {name.strip().lower(): s.KEY.read(unquote(value.strip())) for name, _, value in pairs}
    if not all(map(_HEADER_NAME.fullmatch, headers)) or len(headers) != len(pairs):
        raise ValueError
    return headers


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise ValueError
    return share


def _pattern(text: str) -> "re.Pattern[str]":
    try:
        return re.compile(text)
    except re.error:
        raise ValueError from None


def _limit(text: str) -> int:
    size = int(s.BYTES.read(text))
    if not 64 * KIB <= size <= 64 * MIB:
        raise ValueError
    return size


def _timeout(text: str) -> float:
    seconds = float(s.SECONDS.read(text))
    if not 1 <= seconds <= 100:
        raise ValueError
    return seconds


HOSTS = s.ValueKind("names of hosts with commas between them", lambda text: _words(text.lower()))
WORDS = s.ValueKind("words with commas between them", _words)
STATUSES = s.ValueKind("some of completed, failed, cancelled, with commas between them", _statuses)
HEADERS = s.ValueKind("headers as name=value, with commas between them", _headers)
SHARE = s.ValueKind("a number above 0, up to 1", _share)
PATTERN = s.ValueKind("a regular expression of Python", _pattern)
CHARACTERS = s.ValueKind("a whole number from 1 to 1000000", s.int_between(1, 1_000_000))
LIMIT = s.ValueKind("a number of bytes from 64 KiB to 64 MiB", _limit)
TIMEOUT = s.ValueKind("a number of seconds from 1 to 100", _timeout)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DestinationSettings:
    """Settings that every destination has. Variables are named PLAYHEAD_FORWARD_, the kind, the destination's name, the
    setting."""

    KIND: ClassVar[Literal["langfuse", "phoenix", "otlp"]]

    name: str
    """The name in commands and metrics: `langfuse`, or `langfuse-east` for variables with LANGFUSE_EAST."""
    url: str | None = setting("URL", None, s.HTTP_URL, "where it is; without it, there is no such destination")
    # full: people look for messages and values in these backends.
    content: Literal["full", "preview", "ref"] = setting(
        "CONTENT",
        "full",
        s.one_of("full", "preview", "ref"),
        "how much of messages and values it gets: all, the beginning of each text, or a link to the run",
    )
    # 500: enough to recognise a message in a list.
    preview_characters: int = setting(
        "PREVIEW_CHARACTERS", 500, CHARACTERS, "with CONTENT=preview: so much of each text"
    )
    sample: float = setting("SAMPLE", 1.0, SHARE, "the share of runs that it gets; by the run's id, whole runs")
    # No: another project is another tenant, and a destination is the operator's.
    all_projects: bool = setting(
        "ALL_PROJECTS", False, s.SWITCH, "whether it gets the runs of all projects; else those of the first one"
    )
    agents: tuple[str, ...] = setting("AGENTS", (), WORDS, "only runs with one of these agents")
    statuses: tuple[str, ...] = setting(
        "STATUSES", (), STATUSES, "only runs that ended so; they are sent when they have ended"
    )
    tags: tuple[str, ...] = setting("TAGS", (), WORDS, "only runs with one of these tags")
    mask_keys: tuple[str, ...] = setting(
        "MASK_KEYS", (), WORDS, "keys whose values are masked in all that it gets: password,api_key"
    )
    mask_pattern: "re.Pattern[str] | None" = setting(
        "MASK_PATTERN", None, PATTERN, "what is masked in all texts that it gets: a card number, a name"
    )
    headers: Mapping[str, str] = setting("HEADERS", dict, HEADERS, "headers to send along", secret=True)
    # 4 MiB: what gRPC takes in one message by default, and less than what proxies and Langfuse do.
    max_request_bytes: int = setting(
        "MAX_REQUEST_BYTES", 4 * MIB, LIMIT, "largest request to it, before compression; one larger span goes alone"
    )
    # 30 s: backends store such a request in a few; the worker does nothing else meanwhile.
    timeout_seconds: float = setting("TIMEOUT_SECONDS", 30.0, TIMEOUT, "how long it has to answer")

    def __repr__(self) -> str:
        """Leaves out keys and headers, because tracebacks may show it."""
        return f"{type(self).__name__}(name={self.name!r}, host={self.host!r})"

    @property
    def host(self) -> str:
        """Scheme, host and port of the URL, without the parts that may be secret."""
        parts = urlsplit(self.url or "")
        return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")

    def checked(self) -> Self:
        """Returns itself. Raises BadSetting if the URL contains a user or password."""
        if urlsplit(self.url or "").username or urlsplit(self.url or "").password:
            raise BadSetting(f"the URL of the destination {self.name} has a user or password in it: set its keys apart")
        return self


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LangfuseSettings(DestinationSettings):
    """A project of Langfuse."""

    KIND = "langfuse"

    public_key: str | None = setting("PUBLIC_KEY", None, s.KEY, "the project's public key, pk-lf-...")
    secret_key: str | None = setting("SECRET_KEY", None, s.KEY, "the project's secret key, sk-lf-...", secret=True)
    # None by default: Langfuse names the upload host, and only the operator knows whether it is Langfuse's storage.
    media_hosts: tuple[str, ...] = setting(
        "MEDIA_HOSTS",
        (),
        HOSTS,
        "hosts of Langfuse's storage, *.example.com for all below: images and files are uploaded there; without, they "
        "stay in the spans",
    )

    def checked(self) -> Self:
        """Returns itself. Raises BadSetting if a key is missing, or the URL contains a user or password."""
        super(LangfuseSettings, self).checked()
        if not self.public_key or not self.secret_key:
            raise BadSetting(f"the destination {self.name} has no keys: set its PUBLIC_KEY and SECRET_KEY")
        return self


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PhoenixSettings(DestinationSettings):
    """A project of Phoenix."""

    KIND = "phoenix"

    api_key: str | None = setting("API_KEY", None, s.KEY, "its key, if it needs one", secret=True)
    project: str | None = setting("PROJECT", None, s.KEY, "the project there; by default, its default project")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OtlpSettings(DestinationSettings):
    """Any backend that takes OTLP."""

    KIND = "otlp"

    protocol: Literal["http/protobuf", "grpc"] = setting(
        "PROTOCOL", "http/protobuf", s.one_of("http/protobuf", "grpc"), "what it speaks: OTLP over HTTP, or gRPC"
    )
    logs: bool = setting("LOGS", True, s.SWITCH, "whether it gets log events, too: state changes, checkpoints, ...")


KINDS: Mapping[str, type[DestinationSettings]] = {
    kind.KIND: kind for kind in (LangfuseSettings, PhoenixSettings, OtlpSettings)
}


def destinations(environ: Mapping[str, str] = os.environ, file: Path | None = None) -> tuple[DestinationSettings, ...]:
    """Returns all destinations of the environment and the file, sorted by name. Raises BadSetting."""
    _refuse_unknown(environ)
    by_name: dict[str, DestinationSettings] = {}
    for target in (*_of_environment(environ), *(_of_file(file) if file else ())):
        if target.name in by_name:
            raise BadSetting(f"there are two destinations {target.name}: give one of them another name")
        if target.url is None:
            raise BadSetting(f"the destination {target.name} has no URL: set its URL, or remove its other settings")
        by_name[target.name] = target.checked()
    if len(by_name) > _MAX_DESTINATIONS:
        raise BadSetting(f"{len(by_name)} destinations are more than {_MAX_DESTINATIONS}: remove some")
    return tuple(by_name[name] for name in sorted(by_name))


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    """Raises BadSetting for a PLAYHEAD_FORWARD_ variable that is neither a common setting nor of a known kind of
    destination. Otherwise a misspelt destination would be missing, which an operator notices late."""
    kinds = tuple(f"{PREFIX}{kind.upper()}_" for kind in KINDS)
    for variable in sorted(environ):
        if variable.startswith(PREFIX) and variable not in COMMON_VARIABLES and not variable.startswith(kinds):
            known = ", ".join(f"{kind}..." for kind in kinds)
            raise BadSetting(
                f"{variable} names no kind of destination: correct it to one of {known} (another backend that takes "
                f"OTLP is of the kind otlp) or of {', '.join(sorted(COMMON_VARIABLES))}, or unset it"
            )


def _of_environment(environ: Mapping[str, str]) -> Iterator[DestinationSettings]:
    for kind, settings in KINDS.items():
        lines = {line.env: line for line in table_of(settings)}
        by_name: dict[str, dict[str, Any]] = {}
        prefix = f"{PREFIX}{kind.upper()}_"
        for variable, text in sorted(environ.items()):
            if variable.startswith(prefix) and text.strip():
                name, line = _split(variable, prefix, lines)
                by_name.setdefault(_name_of(kind, name, variable), {})[line.field] = _read(line, text, variable)
        for name, values in by_name.items():
            yield settings(name=name, **values)


def variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the variables of destinations that are set, each with its value (secrets hidden)."""
    for kind, settings in KINDS.items():
        lines = {line.env: line for line in table_of(settings)}
        for variable, text in sorted(environ.items()):
            if variable.startswith(f"{PREFIX}{kind.upper()}_") and text.strip():
                _, line = _split(variable, f"{PREFIX}{kind.upper()}_", lines)
                yield variable, line.shown(_read(line, text, variable))


def _split(variable: str, prefix: str, lines: Mapping[str, Setting]) -> tuple[str, Setting]:
    """Returns the destination's name in a variable, and its setting. The longest matching setting wins, since
    MAX_REQUEST_BYTES has several words. Raises BadSetting."""
    rest = variable.removeprefix(prefix)
    for env in sorted(lines, key=len, reverse=True):
        if rest == env or rest.endswith(f"_{env}"):
            return rest[: -len(env)].strip("_"), lines[env]
    raise BadSetting(f"{variable} is no setting of a destination: it has to end with one of {', '.join(sorted(lines))}")


def _name_of(kind: str, name: str, where: str) -> str:
    full_name = f"{kind}-{name.lower()}" if name else kind
    if not _NAME.fullmatch(full_name):
        raise BadSetting(f"{where} names a destination {full_name!r}: use up to 50 letters, digits, - and _")
    return full_name


def _read(line: Setting, value: Any, where: str) -> Any:
    try:
        return line.read(value, where)
    except InvalidSettingValue as error:
        raise BadSetting(str(error)) from None


def _of_file(path: Path) -> Iterator[DestinationSettings]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("destination", [])
    except OSError as error:
        raise BadSetting(f"PLAYHEAD_FORWARD_FILE cannot be read ({error.strerror}: {path}): see its path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        hint = "correct it, or have it saved as UTF-8; each destination is a table [[destination]] with kind and url"
        raise BadSetting(f"PLAYHEAD_FORWARD_FILE ({path}) is no TOML ({reason}): {hint}") from None
    if not isinstance(tables, list) or not all(isinstance(entry, dict) for entry in cast(list[Any], tables)):
        raise BadSetting(f"{path} has no list of destinations: write each as a table [[destination]]")
    for number, table in enumerate(cast(list[dict[str, Any]], tables), 1):
        yield _of_table(table, f"destination {number} in {path}")


def _of_table(table: dict[str, Any], where: str) -> DestinationSettings:
    kind, name = table.get("kind"), table.get("name", "")
    settings = KINDS.get(kind) if isinstance(kind, str) else None
    if settings is None:
        described = "no kind" if kind is None else f"the unknown kind {kind!r}"
        kinds = ", ".join(sorted(KINDS))
        raise BadSetting(
            f"{where} has {described}: set it to one of {kinds}; a backend that takes OTLP is of the kind otlp"
        )
    if not isinstance(name, str):
        raise BadSetting(f"{where} has the name {name!r}, which is no text: write it in quotation marks")
    lines = {line.field: line for line in table_of(settings)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in {"kind", "name"}:
            if key not in lines:
                raise BadSetting(f"{where} has {key!r}, which is no setting: use some of {', '.join(sorted(lines))}")
            values[key] = _read(lines[key], value, f"{key} of {where}")
    return settings(name=_name_of(settings.KIND, name, where), **values)
