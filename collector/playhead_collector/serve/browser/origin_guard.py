"""Protects against requests that a website made a browser send: checks Host, Origin and Content-Type before keys.

A website can make its visitor's browser send requests to this machine. It can make its own name resolve to 127.0.0.1
(DNS rebinding), so unknown host names are refused. It can send requests whose answers it cannot read, so foreign
origins are refused, and requests that write need a Content-Type that no form can send. The checks apply with and
without keys.
"""

from collections.abc import Collection, Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from playhead_collector.errors import Refused
from playhead_collector.receive.langfuse_media import is_upload
from playhead_collector.serve.drop_in import hint
from playhead_collector.serve.errors import answer

# Types that HTML forms can send, and scripts without a CORS preflight.
_FORM_TYPES = frozenset({"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN_PATHS = frozenset({"/healthz", "/readyz"})


class BrowserGuard:
    """Passes on requests of programs, of our own pages and of allowed websites; answers others with 400, 403 or 415.

    `hosts`: names of the collector besides loopback and IP addresses; `*.example.com` allows all names below it, `*`
    any name. `origins`: websites that may send requests, such as `https://traces.example.com`.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] = (), origins: Collection[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(host.lower().rstrip(".") for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in _OPEN_PATHS:
            try:
                self._check(scope)
            except Refused as error:
                refusal = answer(Request(scope), error.status, error.code, str(error), error.headers)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        hosts = list(_values(scope, b"host"))
        if len(hosts) > 1:
            raise Refused(400, "bad_host", "the request has several Host headers: send one")
        host = hosts[0] if hosts else ""
        if host and not self.knows(name_in(host)):
            raise Refused(
                403,
                "unknown_host",
                f"{name_in(host)[:100]!r} is not a name of this collector: use its address, or add the name to "
                "PLAYHEAD_ALLOWED_HOSTS",
            )
        self._check_origin(scope, host)
        # Uploads may have any type, and a page cannot send a PUT to another origin without a CORS preflight.
        if scope["method"] not in _READING and not is_upload(scope["method"], scope["path"]):
            _check_type(scope)

    def knows(self, name: str) -> bool:
        """Whether requests may use this host name. IP addresses are allowed: DNS rebinding needs a name."""
        if name == "localhost" or name.endswith(".localhost") or name in self._hosts or "*" in self._hosts:
            return True
        above = name.split(".")[1:]
        if any(f"*.{'.'.join(above[n:])}" in self._hosts for n in range(min(len(above), 10))):
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True

    def _check_origin(self, scope: Scope, host: str) -> None:
        origin = next(_values(scope, b"origin"), None)
        if origin is None:
            # Browsers load images and scripts without an Origin header, but send Sec-Fetch-Site.
            site, mode = next(_values(scope, b"sec-fetch-site"), ""), next(_values(scope, b"sec-fetch-mode"), "")
            foreign = site in {"cross-site", "same-site"} and mode != "navigate"
        else:
            asking = _origin(origin)
            same = asking is not None and asking == _origin(f"//{host}")
            foreign = origin.rstrip("/") not in self._origins and not same
        if foreign:
            origin_text = (origin or "another website")[:100]
            message = f"a page of {origin_text} may not ask this collector: add its origin to PLAYHEAD_ALLOWED_ORIGINS"
            raise Refused(403, "foreign_origin", message)


def name_in(host: str) -> str:
    """The name or address in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")


def _origin(url: str) -> tuple[str, str] | None:
    """Host name and port of an origin (empty for 80 and 443); None for `null` and invalid ones."""
    try:
        parts = urlsplit(url)
        port = str(parts.port or "")
    except ValueError:
        return None
    return (parts.hostname, "" if port in {"80", "443"} else port) if parts.hostname else None


def _check_type(scope: Scope) -> None:
    content_type = next(_values(scope, b"content-type"), "").partition(";")[0].strip()
    length = next(_values(scope, b"content-length"), "0")
    has_body = length != "0" or next(_values(scope, b"transfer-encoding"), "") != ""
    if content_type in _FORM_TYPES or (has_body and not content_type):
        todo = hint(scope["method"], scope["path"]) or "send application/json, or what the path takes"
        raise Refused(415, "unknown_type", f"Content-Type is {content_type or 'missing'}: {todo}")


def _values(scope: Scope, name: bytes) -> Iterator[str]:
    return (value.decode("latin-1").strip().lower() for key, value in scope["headers"] if key == name)
