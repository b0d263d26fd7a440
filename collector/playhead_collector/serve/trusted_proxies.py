"""Which proxies are believed when they say how a request reached them.

`X-Forwarded-Proto` of such a proxy becomes the request's scheme, and `X-Forwarded-Prefix` is left for the web UI. From
anybody else these headers are dropped: who sends a request does not choose the addresses that others are shown.
"""

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.types import ASGIApp, Receive, Scope, Send

_SCHEMES = {b"http": "http", b"https": "https"}
_FORWARDED = b"x-forwarded-"


class TrustedProxies:
    """`proxies`: addresses and networks, such as `10.0.0.0/8`."""

    def __init__(self, app: ASGIApp, proxies: Sequence[str]) -> None:
        self._app = app
        self._networks = [ip_network(each) for each in proxies]

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
        if isinstance(address, IPv6Address):  # how a socket for both versions names a client of version 4
            address = address.ipv4_mapped or address
        return address is not None and any(address in network for network in self._networks)

    def _believed(self, scope: Scope) -> Scope:
        # Of several proxies, the one next to us has added the last.
        given = [value for name, value in scope["headers"] if name == b"x-forwarded-proto"]
        scheme = _SCHEMES.get(given[-1].rpartition(b",")[2].strip().lower()) if given else None
        return scope if scheme is None else {**scope, "scheme": scheme}


def _without_forwarded(scope: Scope) -> Scope:
    kept = [header for header in scope["headers"] if not header[0].startswith(_FORWARDED)]
    return scope if len(kept) == len(scope["headers"]) else {**scope, "headers": kept}
