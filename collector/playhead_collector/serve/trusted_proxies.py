"""Reads the X-Forwarded headers of trusted proxies, and drops those of all other clients.

`X-Forwarded-Proto` of a trusted proxy becomes the request's scheme, and `X-Forwarded-Prefix` is left for the web UI.
Other clients must not choose the addresses that are shown to users.
"""

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.types import ASGIApp, Receive, Scope, Send

_SCHEMES = {b"http": "http", b"https": "https"}
_FORWARDED = b"x-forwarded-"


class TrustedProxies:
    """ASGI middleware. `proxies` are addresses and networks, such as `10.0.0.0/8`."""

    def __init__(self, app: ASGIApp, proxies: Sequence[str]) -> None:
        self._app = app
        self._networks = [ip_network(proxy) for proxy in proxies]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = self._believed(scope) if self._trusts(scope) else _without_forwarded(scope)
        await self._app(scope, receive, send)

    def _trusts(self, scope: Scope) -> bool:
        client = scope.get("client")
        try:
            address = ip_address(client[0]) if client else None
        except ValueError:
            return False
        if isinstance(address, IPv6Address):  # a dual-stack socket maps IPv4 clients to IPv6
            address = address.ipv4_mapped or address
        return address is not None and any(address in network for network in self._networks)

    def _believed(self, scope: Scope) -> Scope:
        # With several proxies, the nearest one has added the last value.
        values = [value for name, value in scope["headers"] if name == b"x-forwarded-proto"]
        scheme = _SCHEMES.get(values[-1].rpartition(b",")[2].strip().lower()) if values else None
        return scope if scheme is None else {**scope, "scheme": scheme}


def _without_forwarded(scope: Scope) -> Scope:
    headers = [header for header in scope["headers"] if not header[0].startswith(_FORWARDED)]
    return scope if len(headers) == len(scope["headers"]) else {**scope, "headers": headers}
