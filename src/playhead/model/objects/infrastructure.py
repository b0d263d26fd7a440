"""Recognises objects that are a program's machinery (requests, connections, clients, locks, files), not values it works
with.

Only the type of these objects is recorded: they hold credentials, buffers and memory addresses, which say nothing about
a call and differ in the next attempt. They are recognised by the names of their classes and base classes, so nothing is
imported.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

_ALL: frozenset[str] = frozenset()  # every class that is defined in a module or package, or below it


def _classes(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MACHINERY: dict[str, frozenset[str]] = {
    # web frameworks and servers
    "starlette": _classes(
        "HTTPConnection Request Response WebSocket WebSocketClose BackgroundTask BackgroundTasks Starlette Router "
        "State UploadFile Session TestClient WebSocketTestSession"
    ),
    "fastapi": _classes("FastAPI APIRouter"),
    "sse_starlette": _classes("EventSourceResponse"),
    "flask": _classes("Flask Request Response SecureCookieSession AppContext RequestContext"),
    "werkzeug": _classes("Request Response FileStorage"),
    "quart": _classes("Quart Request Response Websocket"),
    "django.http": _classes("HttpRequest HttpResponseBase"),
    "django.core.handlers": _ALL,
    "django.contrib.sessions": _ALL,
    "django.db.backends": _ALL,
    "rest_framework": _classes("Request Response"),
    "litestar": _classes("Litestar Request Response WebSocket ASGIConnection"),
    "sanic": _classes("Sanic Request BaseHTTPResponse"),
    "tornado": _classes("RequestHandler HTTPServerRequest HTTPRequest HTTPResponse AsyncHTTPClient Application"),
    "uvicorn": _ALL,
    "hypercorn": _ALL,
    "gunicorn": _ALL,
    "websockets": _ALL,
    # HTTP clients
    "httpx": _classes("Client AsyncClient BaseClient Request Response Cookies Auth BaseTransport AsyncBaseTransport"),
    "httpx2": _classes("Client AsyncClient BaseClient Request Response Cookies Auth BaseTransport AsyncBaseTransport"),
    "httpcore": _ALL,
    "requests": _classes("Session Request PreparedRequest Response RequestsCookieJar AuthBase BaseAdapter"),
    "aiohttp": _classes(
        "ClientSession ClientResponse ClientRequest ClientWebSocketResponse BaseConnector AbstractCookieJar BasicAuth "
        "BaseRequest StreamResponse WebSocketResponse Application CookieJar"
    ),
    "urllib3": _classes("RequestMethods HTTPResponse BaseHTTPResponse ConnectionPool HTTPConnection Retry"),
    "urllib.request": _ALL,
    "http.client": _classes("HTTPConnection HTTPResponse"),
    "http.cookiejar": _ALL,
    "grpc": _ALL,
    # databases, caches, queues
    "sqlalchemy.orm.session": _ALL,
    "sqlalchemy.orm.scoping": _ALL,
    "sqlalchemy.ext.asyncio": _ALL,
    "sqlalchemy.engine.base": _ALL,
    "sqlalchemy.engine.url": _ALL,
    "sqlalchemy.pool": _ALL,
    "sqlite3": _classes("Connection Cursor"),
    "aiosqlite": _classes("Connection Cursor"),
    "psycopg": _classes("BaseConnection BaseCursor Connection AsyncConnection Cursor AsyncCursor"),
    "psycopg2": _classes("connection cursor AbstractConnectionPool"),
    "psycopg_pool": _ALL,
    "asyncpg": _classes("Connection Pool PoolConnectionProxy Transaction Cursor"),
    "pymysql": _classes("Connection Cursor"),
    "MySQLdb": _classes("Connection BaseCursor"),
    "aiomysql": _classes("Connection Cursor Pool"),
    "pymongo": _classes("MongoClient AsyncMongoClient Database AsyncDatabase Collection AsyncCollection"),
    "motor": _ALL,
    "redis": _classes("Redis StrictRedis RedisCluster AbstractConnection Connection ConnectionPool Pipeline PubSub"),
    "valkey": _classes("Valkey ValkeyCluster AbstractConnection Connection ConnectionPool Pipeline PubSub"),
    "neo4j": _classes("Driver AsyncDriver Session AsyncSession"),
    "elasticsearch": _classes("Elasticsearch AsyncElasticsearch BaseClient"),
    "qdrant_client": _classes("QdrantClient AsyncQdrantClient"),
    "kafka": _classes("KafkaClient KafkaConsumer KafkaProducer"),
    "aiokafka": _classes("AIOKafkaClient AIOKafkaConsumer AIOKafkaProducer"),
    "pika": _ALL,
    "celery": _classes("Celery Task AsyncResult"),
    # clients of clouds and models
    "boto3": _ALL,
    "botocore": _ALL,
    "google.auth": _ALL,
    "google.oauth2": _ALL,
    "google.cloud": _classes("Client"),
    "google.genai": _classes("Client AsyncClient BaseApiClient"),
    "azure.core": _classes("PipelineClient AsyncPipelineClient AzureKeyCredential TokenCredential AccessToken"),
    "azure.identity": _ALL,
    "openai": _classes("BaseClient SyncAPIResource AsyncAPIResource"),
    "anthropic": _classes("BaseClient SyncAPIResource AsyncAPIResource"),
    "opentelemetry": _classes("Tracer TracerProvider Meter MeterProvider Logger LoggerProvider SpanProcessor"),
    "playhead.api": _ALL,
    "playhead.client.clients": _ALL,
    "paramiko": _ALL,
    "smtplib": _ALL,
    "ftplib": _ALL,
    "imaplib": _ALL,
    # Python's own
    "_asyncio": _ALL,
    "_contextvars": _ALL,
    "_io": _ALL,
    "_queue": _ALL,
    "_socket": _ALL,
    "_sqlite3": _ALL,
    "_ssl": _ALL,
    "_thread": _ALL,
    "asyncio": _ALL,
    "concurrent.futures": _ALL,
    "contextlib": _classes("ExitStack AsyncExitStack _GeneratorContextManager _AsyncGeneratorContextManager"),
    "logging": _ALL,
    "mmap": _ALL,
    "multiprocessing": _ALL,
    "os": _classes("_Environ"),
    "queue": _ALL,
    "select": _ALL,
    "selectors": _ALL,
    "socket": _ALL,
    "socketserver": _ALL,
    "ssl": _ALL,
    "subprocess": _classes("Popen"),
    "tempfile": _ALL,
    "threading": _ALL,
}
_SCOPES = frozenset({"http", "websocket", "lifespan"})
_type: Any = type
_bases = _type.__dict__["__mro__"].__get__
_module = _type.__dict__["__module__"].__get__
_name = _type.__dict__["__qualname__"].__get__
_plain_name = _type.__dict__["__name__"].__get__
_NEVER = (BaseException, type)
T = TypeVar("T")


def is_machinery(kind: type) -> bool:
    """Whether instances of this class are described by their type alone."""
    bases: tuple[type, ...] = _bases(kind)
    for base in bases:
        if base in _NEVER:
            return False
    return any(_is_listed(base) for base in bases)


def listed_as(kind: type, table: Mapping[str, Mapping[str, T]]) -> T | None:
    """Returns the table's entry for a class, or for the nearest base class that has one; None if there is none.
    `table`: entries by module or package, then by the class's name."""
    for base in _bases(kind):
        for package in _above(_module_of(base)):
            listed = table.get(package)
            if listed is not None and _plain_name(base) in listed:
                return listed[_plain_name(base)]
    return None


def is_connection(value: dict[Any, Any]) -> bool:
    """Whether a dictionary is a server's connection: an ASGI scope or a WSGI environment."""
    if "type" in value and ("asgi" in value or ("headers" in value and "path" in value)):
        kind: Any = dict[Any, Any].get(value, "type")
        return type(kind) is str and kind in _SCOPES
    return "wsgi.version" in value and "REQUEST_METHOD" in value


def name_of_type(kind: type) -> str:
    """Returns `module.Name`, even if the class defines other values for them."""
    return f"{_module_of(kind) or '?'}.{_name(kind)}"


def _module_of(kind: type) -> str:
    """Returns the name of the class's module; empty for a class that was made without a module."""
    module: Any = None
    with suppress(AttributeError):
        module = _module(kind)
    return module if isinstance(module, str) else ""


def _is_listed(base: type) -> bool:
    for package in _above(_module_of(base)):
        listed = _MACHINERY.get(package)
        if listed is not None and (not listed or _name(base) in listed):
            return True
    return False


def _above(module: str) -> Iterator[str]:
    """Yields the module, then the packages that it is in."""
    while module:
        yield module
        module = module.rpartition(".")[0]
