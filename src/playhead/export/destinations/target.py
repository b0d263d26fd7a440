"""[destinations]: checks the options of `playhead.export_to`, with defaults from each tool's own variables."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from playhead.errors import SettingInvalid
from playhead.export.destination_notes import DestinationNote
from playhead.outbound.langfuse_media import MEDIA_PATH
from playhead.outbound.options import CONTENT_MODES, VOCABULARIES, ContentMode, OutboundOptions, Vocabulary
from playhead.outbound.phoenix_projects import PATH as PROJECTS_PATH

_LANGFUSE_PATH: Final = "/api/public/otel/v1/traces"
_LANGFUSE: Final = "https://cloud.langfuse.com"
_PHOENIX: Final = "http://127.0.0.1:6006"
_OTLP: Final = "http://127.0.0.1:4318"


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """Where spans go, and how they are written.  `name` is unique in a process and part of a file's name."""

    name: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    options: OutboundOptions
    public_url: str | None = None
    media_url: str | None = None
    """Where Langfuse takes images and files."""
    projects_url: str | None = None
    """Where Phoenix says which of its projects has a span."""
    logs_url: str | None = None
    """Where an OTLP backend takes log events; None: the destination takes spans only."""
    note: DestinationNote | None = None
    """What another process needs to know to deliver there, too."""


def export_target(
    kind: Vocabulary,
    environ: Mapping[str, str],
    *,
    endpoint: str | None,
    api_key: str | None,
    public_key: str | None,
    secret_key: str | None,
    project: str | None,
    headers: Mapping[str, str] | None,
    content: ContentMode,
    preview_characters: int,
    redact: Callable[[Any], Any] | None,
    public_url: str | None,
) -> ExportTarget:
    """Returns the destination for these options. Raises SettingInvalid."""
    _check(kind, content, preview_characters)
    texts = {"endpoint": endpoint, "api_key": api_key, "public_key": public_key, "secret_key": secret_key}
    _check_types({**texts, "project": project, "public_url": public_url}, headers, redact)
    public_url = public_url or environ.get("PLAYHEAD_PUBLIC_URL")
    base = _base(kind, endpoint or _default_endpoint(kind, environ))
    project = project or (environ.get("PHOENIX_PROJECT_NAME") if kind == "phoenix" else None)
    only_here = _only_here(base, headers, api_key)
    note = DestinationNote(
        kind, _without_user(base), project, content, preview_characters, public_url, only_here, redact is not None
    )
    request_headers = {str(name).lower(): str(value) for name, value in (headers or {}).items()}
    is_langfuse = kind == "langfuse"
    if is_langfuse:
        request_headers |= _langfuse_headers(environ, public_key, secret_key)
    else:
        request_headers |= _bearer(api_key or (environ.get("PHOENIX_API_KEY") if kind == "phoenix" else None))
    if kind == "phoenix" and project:
        request_headers["x-project-name"] = project
    _check_headers(request_headers)
    media = is_langfuse and content == "full"
    return ExportTarget(
        _name(kind, base, project),
        base + (_LANGFUSE_PATH if is_langfuse else "/v1/traces"),
        request_headers,
        OutboundOptions(kind, content, preview_characters, redact, media=media, project=project),
        public_url and public_url.rstrip("/"),
        base + MEDIA_PATH if is_langfuse else None,
        base + PROJECTS_PATH if kind == "phoenix" else None,
        base + "/v1/logs" if kind == "otlp" else None,
        note,
    )


def _only_here(base: str, headers: Mapping[str, str] | None, api_key: str | None) -> tuple[str, ...]:
    """Names of headers whose values only the program knows: those that it has given, and `authorization` if it has
    given a key."""
    has_key = api_key is not None or urlsplit(base).username is not None
    return tuple(sorted({*(str(name).lower() for name in headers or {}), *(["authorization"] if has_key else [])}))


def _without_user(base: str) -> str:
    """The address without user name and password."""
    parts = urlsplit(base)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _check(kind: str, content: str, preview_characters: int) -> None:
    if kind not in VOCABULARIES:
        raise SettingInvalid(f"export_to({kind!r}): there is no such destination; use one of {', '.join(VOCABULARIES)}")
    if content not in CONTENT_MODES:
        raise SettingInvalid(f"export_to(content={content!r}): use one of {', '.join(CONTENT_MODES)}")
    if not isinstance(preview_characters, int) or preview_characters < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SettingInvalid(f"export_to(preview_characters={preview_characters!r}): give a number from 1")


def _bearer(key: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise SettingInvalid(f"export_to: the header {name} has characters that no header can have; correct it")


def _check_types(texts: Mapping[str, Any], headers: object, redact: object) -> None:
    for option, value in texts.items():
        if value is not None and not isinstance(value, str):  # not shown: it may be a key
            raise SettingInvalid(f"export_to({option}=...): give a text, and not a {type(value).__name__}")
    if headers is not None and not isinstance(headers, Mapping):
        raise SettingInvalid("export_to(headers=...): give a dictionary of names and values")
    if redact is not None and not callable(redact):
        raise SettingInvalid("export_to(redact=...): give a function that takes a payload and returns what to send")


def _name(kind: str, base: str, project: str | None) -> str:
    """A name that is unique among destinations, in characters that a file's name may have."""
    parts = urlsplit(base)
    name = f"{kind}-{parts.hostname}-{parts.port or 0}" + (f"-{project}" if project else "")
    return "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in name)[:100]


def _default_endpoint(kind: Vocabulary, environ: Mapping[str, str]) -> str:
    match kind:
        case "langfuse":
            return environ.get("LANGFUSE_BASE_URL") or environ.get("LANGFUSE_HOST") or _LANGFUSE
        case "phoenix":
            return environ.get("PHOENIX_COLLECTOR_ENDPOINT") or _PHOENIX
        case "otlp":
            named = environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
            return named or _OTLP


def _base(kind: str, url: str) -> str:
    """The address without the path for spans, which variables of other tools often contain. Raises SettingInvalid."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingInvalid(f"export_to({kind!r}): {url!r} is no address; give one such as https://host:port")
    for path in (_LANGFUSE_PATH, "/v1/traces", "/api/public/otel"):
        url = url.rstrip("/").removesuffix(path)
    return url.rstrip("/")


def _langfuse_headers(environ: Mapping[str, str], public_key: str | None, secret_key: str | None) -> Mapping[str, str]:
    public, secret = public_key or environ.get("LANGFUSE_PUBLIC_KEY"), secret_key or environ.get("LANGFUSE_SECRET_KEY")
    if not public or not secret:
        raise SettingInvalid(
            "export_to('langfuse') needs the keys of a project: set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, "
            "or give public_key= and secret_key="
        )
    pair = base64.b64encode(f"{public}:{secret}".encode()).decode()
    # 4: observations are readable at once; without it, Langfuse takes up to ten minutes.
    return {"authorization": f"Basic {pair}", "x-langfuse-ingestion-version": "4"}
