"""Who sends a request, and for which project: from the key, session or ticket that comes with it.

Clients send their key in one of these headers:

    Authorization: Bearer KEY            ours, and OTLP exporters with OTEL_EXPORTER_OTLP_HEADERS
    Authorization: Basic base64(any:KEY) browsers, and Langfuse's SDK
    x-api-key: KEY                       LangSmith's SDK
    api_key: KEY                         older clients of Phoenix and Arize

The web UI sends a cookie that stands for a key. Calls of gRPC have the headers as metadata.

A key names its project, and everything that follows is about that project. The operator's key is of no project: it
names one with a header or cookie (`project_directory`), or has the first one.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import unquote

from fastapi import Request

from playhead.model.names import PROJECT_HEADER
from playhead_collector.access import ANYBODY, Access, access_of
from playhead_collector.errors import Refused
from playhead_collector.serve.keyring import (
    INGEST,
    SESSION_SECONDS,
    KeyHolder,
    Keyring,
    make_token,
    read_token,
    token_in,
)
from playhead_collector.serve.project_directory import COOKIE, ProjectDirectory
from playhead_collector.serve.quotas import Quotas

_CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="playhead", Basic realm="playhead"'}


@dataclass(frozen=True, slots=True)
class AccessControl:
    """Decides who may do what. Its methods raise StoreUnavailable if keys or projects could never be read."""

    keyring: Keyring
    projects: ProjectDirectory
    quotas: Quotas

    async def access(self, needed: str | None, headers: Mapping[str, str]) -> Access:
        """Returns what the sender of these headers may do. Its key must have the scope `needed` (None: any scope).

        Raises Refused: 401 without a valid key, 403 when the key lacks the scope, or is not of the project that is
        named; 404 when there is no such project; 410 when its key was destroyed.
        """
        holder = await authorize(self.keyring, needed, headers)
        project_id = await self.projects.chosen(holder, _project_in(holder, headers))
        await self.projects.check_readable(project_id)
        if holder is None:
            return Access(project_id=project_id)
        return Access(project_id=project_id, key_name=holder.name, is_operator=holder.is_operator)

    async def sender(self, headers: Mapping[str, str]) -> Access:
        """The same for whoever sends spans, logs or contents. Raises Refused also when the project is over a limit
        (429)."""
        access = await self.access(INGEST, headers)
        await self.quotas.check(access.project_id)
        return access

    async def uploader(self, ticket: str | None) -> Access:
        """Returns what the sender of an announced medium may do, whose address has a ticket of who announced it. Raises
        Refused (401, 429)."""
        access = await self._ticket_holder(ticket)
        await self.projects.check_readable(access.project_id)
        await self.quotas.check(access.project_id)
        return access

    async def upload_ticket(self, request: Request) -> str | None:
        """Returns what the address of an upload has to name, so that it is taken for the project of this request; None:
        there are no keys, so nothing needs to be named."""
        if not await self.keyring.locked():
            return None
        project = str(access_of(request).project_id)
        expires = self.keyring.wall_ns() // 10**9 + SESSION_SECONDS
        for key in keys_in(request.headers):
            if await self.keyring.holder_of([key]) is not None:
                return f"{project}.{make_token(*self.keyring.signing_key(key), expires, _upload_to(project))}"
        return None

    async def _ticket_holder(self, ticket: str | None) -> Access:
        if not await self.keyring.locked():
            return ANYBODY
        project, _, signed = (ticket or "").partition(".")
        token = read_token(signed)
        if token is None or await self.keyring.holder_of_session(token, _upload_to(project)) is None:
            raise _no_key()
        return Access(project_id=int(project))  # it is signed, so it is as `upload_ticket` wrote it


def _upload_to(project: str) -> str:
    return f"upload to project {project}"


def _no_key() -> Refused:
    message = "the key is missing, wrong or expired: send the header 'Authorization: Bearer <key>'"
    return Refused(401, "unauthorized", message, _CHALLENGE)


async def authorize(keyring: Keyring, needed: str | None, headers: Mapping[str, str]) -> KeyHolder | None:
    """Returns the holder of the key in these headers, which must have the scope `needed` (None: any scope). Returns
    None if no key exists.

    Raises Refused: 401 without a valid key, 403 when the key lacks the scope; StoreUnavailable if keys cannot be read.
    """
    if not await keyring.locked():
        return None
    holder = await holder_in(keyring, headers)
    if holder is None:
        raise _no_key()
    if needed is not None and needed not in holder.scopes:
        may = ", ".join(sorted(holder.scopes)) or "nothing"
        message = f"this needs a key with the scope {needed}, and this one has {may}: see `playhead keys`"
        raise Refused(403, "forbidden", message)
    return holder


def _project_in(holder: KeyHolder | None, headers: Mapping[str, str]) -> str | None:
    """Returns the name of the project in these headers; None if they name none. The cookie is the operator's: in a
    browser, it may be left from another session."""
    if named := headers.get(PROJECT_HEADER):
        return unquote(named)
    if holder is None or not holder.is_operator:
        return None
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return unquote(morsel.value) if morsel is not None and morsel.value else None


async def holder_in(keyring: Keyring, headers: Mapping[str, str]) -> KeyHolder | None:
    """The holder of the first valid key in these headers, else of their session.  Raises StoreUnavailable."""
    holder = await keyring.holder_of(keys_in(headers))
    if holder is None and (token := token_in(headers)) is not None:
        holder = await keyring.holder_of_session(token)
    return holder


def keys_in(headers: Mapping[str, str]) -> Iterator[bytes]:
    """The keys in a request's headers, whose names are in lower case."""
    for name in ("x-api-key", "api_key"):
        if (plain := headers.get(name)) is not None:
            yield plain.encode()
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    match scheme.lower():
        case "bearer":
            yield rest.strip().encode()
        case "basic":
            try:
                yield base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
            except (ValueError, binascii.Error):
                return
        case _:
            return
