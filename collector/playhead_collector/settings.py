"""The collector's settings: one table, which `--help`, `doctor`, the documentation and `load` all read.

The composition root reads it once, at start. An unusable value ends the start with one sentence.
"""

import base64
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playhead.settings import table as s
from playhead.settings.table import KIB, MIB, InForce, Setting, in_force_of, setting, table_of, without_password
from playhead_collector.destination_settings import SHARE, WEBHOOK_SECRET, DestinationSettings, destinations
from playhead_collector.errors import BadSetting

__all__ = ["KIB", "MIB", "CollectorSettings", "InForce", "Setting", "in_force", "load", "table", "without_password"]


_MIN_GRACE = 7_200.0
_ENCRYPTION_KEY_BYTES = 32
_LANGUAGE_NAME = re.compile("[a-z][a-z0-9_]{0,62}")
_TAG_NAME = re.compile(r"[A-Za-z][\w.-]{0,99}+", re.ASCII)


def _tag(text: str) -> str:
    if not _TAG_NAME.fullmatch(text):
        raise ValueError
    return text


def _language(text: str) -> str:
    if not _LANGUAGE_NAME.fullmatch(text):
        raise ValueError
    return text


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip().lower() for name in text.split(",") if name.strip())


def _networks(text: str) -> tuple[str, ...]:
    return tuple(str(ip_network(network.strip())) for network in text.split(",") if network.strip())


def _grace(text: str) -> float:
    seconds = float(s.SECONDS.read(text))
    if seconds < _MIN_GRACE:
        raise ValueError
    return seconds


def _grpc_port(text: str) -> int | None:
    return None if text.lower() in {"off", "none"} else s.int_between(0, 65535)(text)


def _encryption_key(text: str) -> str:
    if len(base64.b64decode(text, validate=True)) != _ENCRYPTION_KEY_BYTES:
        raise ValueError
    return text


def _postgres_url(text: str) -> str:
    if urlsplit(text).scheme not in {"postgres", "postgresql"}:
        raise ValueError
    return text


def _object_store(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"s3", "gs", "az", "file"} or not (parts.netloc or parts.path.strip("/")):
        raise ValueError
    return text


def _file(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:  # no such home
        raise ValueError from None


def _object_bytes(text: str) -> int:
    size = int(s.BYTES.read(text))
    if size < 64 * KIB:
        raise ValueError
    return size


# Zero takes any free port, which is useful in tests.
PORT = s.ValueKind("a port number, 0 to 65535", s.int_between(0, 65535))
GRPC_PORT = s.ValueKind("a port number, 0 to 65535, or off", _grpc_port)
COUNT = s.ValueKind("a whole number from 1 to 1000", s.int_between(1, 1000))
PROCESSES = s.ValueKind("a whole number from 0 to 64", s.int_between(0, 64))
MANY = s.ValueKind("a whole number from 1 to 1000000", s.int_between(1, 1_000_000))
NAMES = s.ValueKind("names with commas between them", _names)
NETWORKS = s.ValueKind("addresses and networks with commas between them: 127.0.0.1, 10.0.0.0/8", _networks)
GRACE = s.ValueKind("a number of seconds, from 7200 to 3155760000 (a hundred years)", _grace)
CHARACTERS = s.ValueKind("a whole number from 1000 to 67108864", s.int_between(1000, 67_108_864))
ITEMS = s.ValueKind("a whole number from 1000 to 1000000000", s.int_between(1000, 1_000_000_000))
INLINE = s.ValueKind("a whole number from 64 to 4096", s.int_between(64, 4096))
ON_OFF = s.ValueKind("on or off", lambda text: s.one_of("on", "off", "true", "false").read(text) in ("on", "true"))
LANGUAGE = s.ValueKind("the name of a text search configuration, e.g. simple or english", _language)
FILE = s.ValueKind("the path of a file", _file)
TAG = s.ValueKind("the name of a tag: a letter, then letters, digits, dots, dashes", _tag)
OBJECT_STORE_URL = s.ValueKind("s3://bucket/prefix, gs://..., az://account/container or file:///folder", _object_store)
# The least size by which the database finds contents that may move.
OBJECT_BYTES = s.ValueKind("a number of bytes, 64 KiB or more: 500000, 512 KiB, 1 MiB", _object_bytes)
ENCRYPTION_KEY = s.ValueKind("base64 of 32 bytes, from `openssl rand -base64 32`", _encryption_key)
POSTGRES_URL = s.ValueKind("a Postgres URL, postgresql://user:password@host:5432/database", _postgres_url)


def default_data_dir(
    platform: str = sys.platform, environ: Mapping[str, str] = os.environ, *, as_root: bool | None = None
) -> Path:
    """Returns the folder for user data on this platform. By default, `as_root` is whether this process runs as root."""
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or s.home_folder() / "AppData" / "Local") / "playhead"
    if as_root is None:
        as_root = os.geteuid() == 0
    if as_root:  # Postgres runs as another user then, who may not read root's home
        return Path("/var/lib/playhead")
    if platform == "darwin":
        return s.home_folder() / "Library" / "Application Support" / "playhead"
    # XDG says to ignore a relative path in this variable.
    named = Path(environ.get("XDG_DATA_HOME", ""))
    return (named if named.is_absolute() else s.home_folder() / ".local" / "share") / "playhead"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorSettings:
    """Everything that an operator can set, with the values in force."""

    database_url: str | None = setting(
        "PLAYHEAD_DATABASE_URL", None, POSTGRES_URL, "your Postgres (14 or newer); without it, one is started for you"
    )
    data_dir: Path = setting(
        "PLAYHEAD_DATA_DIR", default_data_dir, s.FOLDER, "where the Postgres that is started for you keeps its data"
    )
    # Loopback: anyone who reaches the collector can read prompts, so opening it to a network must be a decision.
    host: str = setting("PLAYHEAD_HOST", "127.0.0.1", s.TEXT, "address to listen on")
    # OTLP's standard port: exporters without configuration find the collector.
    port: int = setting("PLAYHEAD_PORT", 4318, PORT, "port for OTLP/HTTP, the API and the UI")
    # OTLP's standard port for gRPC.
    grpc_port: int | None = setting("PLAYHEAD_GRPC_PORT", 4317, GRPC_PORT, "port for OTLP/gRPC; off: none")
    admin_key: str | None = setting(
        "PLAYHEAD_ADMIN_KEY",
        None,
        s.KEY,
        "a key that may do everything; without any key, everybody may",
        secret=True,
    )
    # False: a scraper can be given a key, and the figures tell how much agents do, and when.
    metrics_open: bool = setting("PLAYHEAD_METRICS_OPEN", False, s.SWITCH, "whether /metrics needs no key")
    # 64 MiB: what OTLP's specification asks servers to limit a request to; also counted after decompression, since a
    # few kilobytes can unpack into gigabytes.
    max_request_bytes: int = setting(
        "PLAYHEAD_MAX_REQUEST_BYTES", 64 * MIB, s.BYTES, "largest request accepted, before and after decompression"
    )
    # None: an unknown name may be a website's that resolves to this machine (DNS rebinding). Addresses are always
    # allowed.
    allowed_hosts: tuple[str, ...] = setting(
        "PLAYHEAD_ALLOWED_HOSTS", (), NAMES, "names of the collector besides localhost; *.example.com for all below"
    )
    allowed_origins: tuple[str, ...] = setting(
        "PLAYHEAD_ALLOWED_ORIGINS", (), NAMES, "websites whose pages may ask it: https://traces.example.com"
    )
    # Loopback: only proxies on this machine. From other addresses, a client could send the same headers.
    trusted_proxies: tuple[str, ...] = setting(
        "PLAYHEAD_TRUSTED_PROXIES",
        ("127.0.0.0/8", "::1/128"),
        NETWORKS,
        "proxies that are believed when they say X-Forwarded-Proto and X-Forwarded-Prefix",
    )
    # 1,000: common limits of descriptors (1,024) allow so many; an idle connection takes 10 kB.
    max_connections: int = setting(
        "PLAYHEAD_MAX_CONNECTIONS", 1_000, MANY, "connections at a time; beyond, they are answered with 503"
    )
    # 400: a program has one or two, so this is some 200 programs on a machine, and three machines use up all. Raise it
    # behind a proxy, since all connections come from the proxy's address then.
    max_connections_per_client: int = setting(
        "PLAYHEAD_MAX_CONNECTIONS_PER_CLIENT", 400, MANY, "connections from one address at a time"
    )
    # 32 KiB: four times what browsers and proxies send at most.
    max_head_bytes: int = setting(
        "PLAYHEAD_MAX_HEAD_BYTES", 32 * KIB, s.BYTES, "largest head of a request: its URL and headers"
    )
    # 10 s: a head is one packet or two; this allows for a bad line with several losses.
    head_seconds: float = setting("PLAYHEAD_HEAD_SECONDS", 10.0, s.SECONDS, "time for a request's head to arrive")
    # 60 s: enough for the largest request at 10 Mbit/s; exporters give up after 10 s.
    body_seconds: float = setting("PLAYHEAD_BODY_SECONDS", 60.0, s.SECONDS, "time for a request's body to arrive")
    # 20 s for each 256 KiB: slower than any line that people work with.
    send_seconds: float = setting(
        "PLAYHEAD_SEND_SECONDS", 20.0, s.SECONDS, "time that a client has for each 256 KiB of its answer"
    )
    # Longer than the 5 s after which exporters send again, and than the 60 s of common proxies: neither of them sends
    # on a connection that is just closing.
    idle_seconds: float = setting(
        "PLAYHEAD_IDLE_SECONDS", 75.0, s.SECONDS, "time that a connection is kept after an answer"
    )
    # 100,000: exporters send 512 at a time, the OpenTelemetry Collector 8,192; a request is stored in portions.
    max_spans_per_request: int = setting(
        "PLAYHEAD_MAX_SPANS_PER_REQUEST", 100_000, MANY, "most spans, log records or metrics in one request"
    )
    # 10,000: OpenTelemetry's SDKs keep 128 attributes, events and links each; a part takes up to a hundred times its
    # bytes in memory.
    max_span_parts: int = setting(
        "PLAYHEAD_MAX_SPAN_PARTS", 10_000, MANY, "most attributes, events, links and values of one span or log record"
    )
    # 1 MiB: the largest question names 10,000 refs, which are 740 kB.
    max_question_bytes: int = setting(
        "PLAYHEAD_MAX_QUESTION_BYTES", MIB, s.BYTES, "largest request to anything but spans, logs and content"
    )
    # 128 MiB: two contents of the largest size.
    max_answering_bytes: int = setting(
        "PLAYHEAD_MAX_ANSWERING_BYTES", 128 * MIB, s.BYTES, "bytes of large answers that clients are taking, together"
    )
    # 20,000: a hundred times as many as Playhead's SDK sends in one; each takes half a kilobyte besides its bytes.
    max_pack_items: int = setting(
        "PLAYHEAD_MAX_PACK_ITEMS", 20_000, MANY, "most contents, and messages of threads, in one upload"
    )
    # 64: an exporter has one request open at a time, so this allows 64 busy processes. Each request waits for a
    # connection of the pool; more of them would wait longer than exporters do, which is 10 s.
    max_requests_in_work: int = setting(
        "PLAYHEAD_MAX_REQUESTS_IN_WORK", 64, COUNT, "requests taken at a time; beyond, senders are asked to come back"
    )
    # 1: analysis uses the processor, and the second core of a small machine is left to Postgres. 0 saves the 70 MB of
    # each process, but a long question then blocks everything else, and nothing limits it.
    analysis_processes: int = setting(
        "PLAYHEAD_ANALYSIS_PROCESSES", 1, PROCESSES,
        "processes that answer analysis questions, beside one for background work; 0: the collector does both",
    )  # fmt: skip
    # 30 s: the longest run of 100,000 events takes a few seconds; nobody waits longer for a page.
    analysis_seconds: float = setting(
        "PLAYHEAD_ANALYSIS_SECONDS", 30.0, s.SECONDS, "time for an analysis question, and for waiting until it begins"
    )
    # 32: a few open pages ask so many at once; a question waits at most as long as one may take.
    analysis_waiting: int = setting(
        "PLAYHEAD_ANALYSIS_WAITING", 32, COUNT, "analysis questions that wait; beyond, callers are asked to come back"
    )
    # 1 GiB: texts of 64 MiB as Python objects; a run of 100,000 events takes half of it.
    analysis_memory_bytes: int = setting(
        "PLAYHEAD_ANALYSIS_MEMORY_BYTES", 1024 * MIB, s.BYTES, "memory that an analysis process may take (Linux)"
    )
    # 4: reads are mostly work of Postgres, which two connections per core keep busy; each may hold an answer of some
    # MB.
    max_reads: int = setting(
        "PLAYHEAD_MAX_READS",
        4,
        COUNT,
        "questions that read from the database at a time (events, state, context); at most half of PLAYHEAD_POOL_SIZE",
    )
    # 64: a few open pages ask some ten each; 64 common questions are answered within a second.
    reads_waiting: int = setting(
        "PLAYHEAD_READS_WAITING", 64, COUNT, "such questions that wait; beyond, callers are asked to come back"
    )
    # 500: half of PLAYHEAD_MAX_CONNECTIONS, so that senders and questions find a connection.
    max_streams: int = setting(
        "PLAYHEAD_MAX_STREAMS", 500, MANY, "clients that follow runs live at a time; beyond, they are answered with 503"
    )
    # 15 s: proxies close connections that are silent for 30 to 60 s.
    stream_heartbeat_seconds: float = setting(
        "PLAYHEAD_STREAM_HEARTBEAT_SECONDS", 15.0, s.SECONDS, "longest silence of a live stream"
    )
    # 15 minutes: a revoked key gives access for no longer; reconnecting costs a client nothing.
    stream_seconds: float = setting(
        "PLAYHEAD_STREAM_SECONDS", 900.0, s.SECONDS, "time after which a live stream ends, and its client comes back"
    )
    # 64 MiB: some 30,000 events. A client that is further behind is disconnected, and gets what it missed when it
    # reconnects.
    stream_memory_bytes: int = setting(
        "PLAYHEAD_STREAM_MEMORY_BYTES", 64 * MIB, s.BYTES, "memory for recent events of runs that are followed live"
    )
    # A day: a laptop that was closed overnight can continue. Each projection of a run takes a row of 100 bytes.
    stream_resume_seconds: float = setting(
        "PLAYHEAD_STREAM_RESUME_SECONDS",
        86_400.0,
        s.SECONDS,
        "how long a client of a live stream may be away and still get exactly what it missed",
    )
    # 64 MiB: a content is held in memory whole to check its digest, and a larger one does not fit into a request
    # anyway.
    max_content_bytes: int = setting(
        "PLAYHEAD_MAX_CONTENT_BYTES", 64 * MIB, s.BYTES, "largest content kept; of a larger one, a marker is kept"
    )
    # 1024: longer than names, ids and most URLs, shorter than what people and models write to each other. 4096 bytes is
    # the limit of every attribute.
    inline_attribute_characters: int = setting(
        "PLAYHEAD_INLINE_ATTRIBUTE_CHARACTERS",
        1024,
        INLINE,
        "longest text kept within a span whose dialect is not understood; a longer one becomes content",
    )
    # 30 s: exporters batch for 5 s and retry with growing pauses; later spans are appended and marked late.
    seal_after_seconds: float = setting(
        "PLAYHEAD_SEAL_AFTER_SECONDS", 30.0, s.SECONDS, "quiet time after which an ended run's seqs never change again"
    )
    # 15 min: longer than most model calls and tool calls take, and than the SDK waits before it delivers again. A lost
    # run that continues becomes running again.
    run_lost_after_seconds: float = setting(
        "PLAYHEAD_RUN_LOST_AFTER_SECONDS",
        900.0,
        s.SECONDS,
        "silence after which a running run counts as lost, unless it waits for an answer, and an ended one waits no "
        "longer for processes that it was handed to",
    )
    # An hour: other instrumentations report a call when it ends, not when it begins.
    foreign_run_lost_after_seconds: float = setting(
        "PLAYHEAD_FOREIGN_RUN_LOST_AFTER_SECONDS",
        3600.0,
        s.SECONDS,
        "the same for runs that another instrumentation recorded",
    )
    kept_runs_bytes: int = setting(
        "PLAYHEAD_KEPT_RUNS_BYTES", 64 * MIB, s.BYTES, "memory for what runs that go on need, not to be projected anew"
    )
    # 24 h: senders are seldom cut off from the collector for longer, and rely on content that was stored. They do so
    # for an hour without asking, so the minimum is two hours. Counted in whole days, rounded up.
    content_grace_seconds: float = setting(
        "PLAYHEAD_CONTENT_GRACE_SECONDS",
        86_400.0,
        GRACE,
        "how long content is kept after the last run that named it was deleted, and up to a day more",
    )
    # None: everything stays in Postgres, which is enough for most.
    object_store: str | None = setting(
        "PLAYHEAD_OBJECT_STORE",
        None,
        OBJECT_STORE_URL,
        "where large contents and warm runs move: s3://bucket/prefix, ...",
    )
    # 1 MiB: reading it from an object store takes hardly longer than asking for it does, and a request for each is
    # cheaper than a month in Postgres.
    object_store_min_bytes: int = setting(
        "PLAYHEAD_OBJECT_STORE_MIN_BYTES",
        MIB,
        OBJECT_BYTES,
        "contents that take so many bytes in Postgres (compressed) move to the object store",
    )
    # 10 s: a content of the largest size at 50 Mbit/s; who asks gets 503 then.
    object_store_seconds: float = setting(
        "PLAYHEAD_OBJECT_STORE_SECONDS", 10.0, s.SECONDS, "time for one read from the object store; then 503"
    )
    # A minute: longer than any read that has the row from before, and long enough to see whether an object stays.
    object_store_wait_seconds: float = setting(
        "PLAYHEAD_OBJECT_STORE_WAIT_SECONDS",
        60.0,
        s.SECONDS,
        "how long a content that has moved stays in Postgres, too",
    )
    # A day: a backup of the database finds its objects for so long.
    object_store_grace_seconds: float = setting(
        "PLAYHEAD_OBJECT_STORE_GRACE_SECONDS",
        86_400.0,
        s.SECONDS,
        "how long an object is kept after the last content in it was deleted",
    )
    # 65 minutes: the SDK forgets once an hour which contents a collector has, and some minutes for what is being sent.
    forget_after_seconds: float = setting(
        "PLAYHEAD_FORGET_AFTER_SECONDS",
        3_900.0,
        s.SECONDS,
        "how long contents of forgotten runs are kept after they were stored or named; 0 if no program records now",
    )
    # 30 days: journals of machines that were off for long arrive within it; each tombstone is a row of 100 bytes.
    tombstone_seconds: float = setting(
        "PLAYHEAD_TOMBSTONE_SECONDS", 30 * 86_400.0, s.SECONDS, "how long late spans of a deleted run are dropped"
    )
    # 10: Postgres does most with about two connections per core. In a larger pool, transactions wait inside Postgres
    # instead of in front of it, and a small server allows 100 connections for all its clients together.
    pool_size: int = setting("PLAYHEAD_POOL_SIZE", 10, COUNT, "most connections to Postgres at a time")
    # 5 s: half of the 10 s after which exporters give up, so that they get the answer with `Retry-After` in time.
    pool_wait_seconds: float = setting(
        "PLAYHEAD_POOL_WAIT_SECONDS", 5.0, s.SECONDS, "time to wait for one of these connections; then 503"
    )
    # 4 s: with the second question, sent a second later, still in time for exporters. A Postgres that is only busy
    # answers an empty question sooner.
    database_silent_seconds: float = setting(
        "PLAYHEAD_DATABASE_SILENT_SECONDS",
        4.0,
        s.SECONDS,
        "how long Postgres may say nothing at all before what waits for it is answered with 503",
    )
    # 60 s: the largest upload on a slow disk takes a good part of it.
    statement_seconds: float = setting(
        "PLAYHEAD_STATEMENT_SECONDS", 60.0, s.SECONDS, "time for one statement of a Postgres that answers others"
    )
    prices: Path | None = setting(
        "PLAYHEAD_PRICES", None, FILE, "what models cost and hold, in place of the table that comes along"
    )
    # None: the limits in the table of prices.
    context_windows: tuple[tuple[str, int], ...] = setting(
        "PLAYHEAD_CONTEXT_WINDOWS",
        (),
        s.WINDOWS,
        "how many tokens fit into models, by the beginning of their names; counts more than the table: my-model=32768",
    )
    reasoning_tag: str = setting(
        "PLAYHEAD_REASONING_TAG", "reasoning", TAG, "tag between which models write down their reasoning in a form"
    )
    # None by default: it runs code of the operator's on all that arrives, of projects whose rules say so.
    redaction_hook: str | None = setting(
        "PLAYHEAD_REDACTION_HOOK",
        None,
        s.TEXT,
        "function that masks what is stored, as module:function (`docs/redaction.md`)",
    )
    # 262144: longer than most single messages to models; an analysis reads so much in about half a second.
    max_analysed_characters: int = setting(
        "PLAYHEAD_MAX_ANALYSED_CHARACTERS",
        262_144,
        CHARACTERS,
        "how much of one text analyses read; answers say what was cut",
    )
    # On: the index takes about as many bytes again as the stored data; it is built when there is nothing else to do.
    search: bool = setting("PLAYHEAD_SEARCH", True, ON_OFF, "whether runs are indexed, to search decisions and texts")
    # simple: runs are in many languages, and `simple` takes words as they are. `english` finds `refunded` for `refund`,
    # too.
    search_language: str = setting(
        "PLAYHEAD_SEARCH_LANGUAGE", "simple", LANGUAGE, "Postgres text search configuration; a new one indexes all anew"
    )
    # 32768: longer than most messages; the rest of a longer text is mostly data.
    search_characters: int = setting(
        "PLAYHEAD_SEARCH_CHARACTERS", 32_768, CHARACTERS, "how many characters of one content are searched"
    )
    # 10: a first page takes less than a fifth of a second; after ten seconds it is better to narrow the search.
    search_seconds: float = setting(
        "PLAYHEAD_SEARCH_SECONDS", 10.0, s.SECONDS, "how long one search may take; then it is given up"
    )
    # On: a list of runs says why each has failed. It takes the analysis processes as long as whoever opens the run
    # would wait for them, and they do it when they have nothing else to do.
    first_suspects: bool = setting(
        "PLAYHEAD_FIRST_SUSPECTS",
        True,
        ON_OFF,
        "whether the steps of failed runs are looked through in the background, for lists that say what went wrong",
    )
    # None by default: recorded data is sent to no model that the operator did not choose.
    explain_url: str | None = setting(
        "PLAYHEAD_EXPLAIN_URL", None, s.HTTP_URL, "OpenAI-compatible API that explains runs: https://.../v1"
    )
    explain_model: str | None = setting("PLAYHEAD_EXPLAIN_MODEL", None, s.TEXT, "the model there that explains runs")
    explain_api_key: str | None = setting(
        "PLAYHEAD_EXPLAIN_API_KEY", None, s.KEY, "its key, if it needs one", secret=True
    )
    # None by default: model calls cost money, and the caller chooses the prompt.
    ask_models: tuple[str, ...] = setting(
        "PLAYHEAD_ASK_MODELS", (), NAMES, "further models at PLAYHEAD_EXPLAIN_URL that calls may be asked again of"
    )
    # 4: each holds a call's context in memory until the model has answered.
    max_asked: int = setting(
        "PLAYHEAD_MAX_ASKED", 4, COUNT, "calls that are asked again at a time; beyond, callers are asked to come back"
    )
    # None by default: functions run in a process of the collector, so the operator names them, and nobody over the API.
    scorers: tuple[str, ...] = setting(
        "PLAYHEAD_SCORERS", (), NAMES, "functions that score runs, as module:function, besides those of entry points"
    )
    # None: links use the address it listens on, which is right on one machine and wrong behind a proxy.
    public_url: str | None = setting(
        "PLAYHEAD_PUBLIC_URL", None, s.HTTP_URL, "where people reach it: forwarded spans link to runs there"
    )
    forward_file: Path | None = setting(
        "PLAYHEAD_FORWARD_FILE",
        None,
        FILE,
        "a TOML file of destinations, besides those of PLAYHEAD_FORWARD_* variables",
    )
    # 7 days: backends are seldom down for longer, weekends and holidays included.
    forward_max_age_seconds: float = setting(
        "PLAYHEAD_FORWARD_MAX_AGE_SECONDS",
        7 * 86_400.0,
        s.SECONDS,
        "how long spans wait for a destination, dead letters included; then they are not forwarded any more",
    )
    # 2,000,000: two days of 10 spans a second; each takes some ten bytes while it waits.
    forward_max_items: int = setting(
        "PLAYHEAD_FORWARD_MAX_ITEMS",
        2_000_000,
        ITEMS,
        "spans and log events that wait for one destination; beyond, the oldest are not forwarded",
    )
    # 60 s: senders upload contents before spans, and retry failed uploads within this time.
    forward_content_wait_seconds: float = setting(
        "PLAYHEAD_FORWARD_CONTENT_WAIT_SECONDS",
        60.0,
        s.SECONDS,
        "how long a span waits for content that it names and that has not arrived; then it is forwarded without",
    )
    # 10 s: OpenTelemetry's processors send every 5 s, so the call's other spans and log records have arrived by then.
    forward_settle_seconds: float = setting(
        "PLAYHEAD_FORWARD_SETTLE_SECONDS",
        10.0,
        s.SECONDS,
        "how long a call that another instrumentation recorded waits for other spans and log records of the same call, "
        "so that Langfuse and Phoenix count it once; calls of a run that has ended do not wait",
    )
    # 5 %: less than the variation of ingest's throughput. The rest stays in the outbox and is sent afterwards.
    forward_busy_share: float = setting(
        "PLAYHEAD_FORWARD_BUSY_SHARE",
        0.05,
        SHARE,
        "the share of time that forwarding takes while ingest needs the processor",
    )
    # None: questions of runs are sent only where the operator chose. Secret, since paths may be keys.
    promise_webhook: str | None = setting(
        "PLAYHEAD_PROMISE_WEBHOOK", None, s.HTTP_URL, "where open promises are announced by POST", secret=True
    )
    promise_webhook_secret: bytes | None = setting(
        "PLAYHEAD_PROMISE_WEBHOOK_SECRET", None, WEBHOOK_SECRET, "the key that signs announcements", secret=True
    )
    # 10 s: receivers should answer before they process; a hanging receiver delays the promises behind it for as long.
    promise_webhook_seconds: float = setting(
        "PLAYHEAD_PROMISE_WEBHOOK_SECONDS", 10.0, s.SECONDS, "time that the webhook has for its answer"
    )
    # 3 days: a receiver that was down over a weekend still gets everything; older promises are probably no longer
    # needed.
    promise_webhook_max_age_seconds: float = setting(
        "PLAYHEAD_PROMISE_WEBHOOK_MAX_AGE_SECONDS", 3 * 86_400.0, s.SECONDS, "how old promises are announced at most"
    )
    # None: no project can be encrypted.
    encryption_key: str | None = setting(
        "PLAYHEAD_ENCRYPTION_KEY",
        None,
        ENCRYPTION_KEY,
        "the key that wraps the keys of encrypted projects: `openssl rand -base64 32`",
        secret=True,
    )
    encryption_key_file: Path | None = setting(
        "PLAYHEAD_ENCRYPTION_KEY_FILE", None, FILE, "a file with that key, instead of PLAYHEAD_ENCRYPTION_KEY"
    )
    encryption_command: str | None = setting(
        "PLAYHEAD_ENCRYPTION_COMMAND",
        None,
        s.TEXT,
        "a command that wraps and unwraps keys with a key service, instead of PLAYHEAD_ENCRYPTION_KEY",
    )
    log_format: Literal["text", "json"] = setting("PLAYHEAD_LOG_FORMAT", "text", s.one_of("text", "json"), "log lines")
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "PLAYHEAD_LOG_LEVEL", "info", s.one_of("debug", "info", "warning", "error"), "least important log line shown"
    )
    destinations: tuple[DestinationSettings, ...] = ()
    """Destinations of forwarded spans. `load` reads them from PLAYHEAD_FORWARD_* variables and PLAYHEAD_FORWARD_FILE.
    """


def table() -> tuple[Setting, ...]:
    """Returns every setting, in the order in which to show them."""
    return table_of(CollectorSettings)


def in_force(environ: Mapping[str, str] = os.environ, **options: Any) -> tuple[InForce, ...]:
    """Returns every setting with its value and where it comes from: an option, else the environment, else the default.

    Options go by field name; None means that the option was not given. Raises BadSetting.
    """
    try:
        return in_force_of(CollectorSettings, environ, options)
    except s.InvalidSettingValue as error:
        raise BadSetting(str(error)) from None


def load(environ: Mapping[str, str] = os.environ, **options: Any) -> CollectorSettings:
    """Returns the settings in force; `options` override the environment. Raises BadSetting."""
    values = {line.setting.field: line.value for line in in_force(environ, **options)}
    return CollectorSettings(**values, destinations=destinations(environ, values["forward_file"]))
