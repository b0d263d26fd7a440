"""The collector's address and key for a client, and exceptions from failed requests."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from playhead.client.operation import ApiRequest
from playhead.errors import (
    BadRequest,
    ClientError,
    CollectorUnreachable,
    Conflict,
    NotAuthorized,
    NotFound,
    SettingInvalid,
)
from playhead.model.canonical import parse_json
from playhead.model.names import COLLECTOR_HEADER
from playhead.settings import sdk as settings
from playhead.settings.table import InForce, InvalidSettingValue, in_force_of, setting
from playhead.wire.wrong_port import grpc_hint


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Settings of the client, in addition to those of the SDK."""

    collector_url: str | None = setting(
        "PLAYHEAD_COLLECTOR_URL",
        None,
        settings.COLLECTOR_URL,
        "the collector to ask; without it, the one that spans go to",
    )


T = TypeVar("T")
# Longer than a question may wait and then take (PLAYHEAD_ANALYSIS_SECONDS, 30 s, for each): the collector's own timeout
# comes first, and says what to do.
TIMEOUT_SECONDS = 70.0
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_MEANS: Mapping[int, type[ClientError]] = {
    401: NotAuthorized,
    403: NotAuthorized,
    404: NotFound,
    409: Conflict,
    **dict.fromkeys((400, 413, 416, 422), BadRequest),
}


def in_force(environ: Mapping[str, str] = os.environ, **options: Any) -> tuple[InForce, ...]:
    """The client's settings with the source of each value.  Raises SettingInvalid."""
    try:
        return in_force_of(ClientSettings, environ, options)
    except InvalidSettingValue as error:
        raise SettingInvalid(str(error)) from None


def collector_url(given: str | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """URL of the collector: `given`, else the variable, else the one that receives spans.  Raises SettingInvalid."""
    (line,) = in_force(environ, collector_url=given)
    url = line.value or settings.load(environ).endpoint
    if url is None:
        raise SettingInvalid(
            "PLAYHEAD_ENDPOINT=none says that there is no collector: ask the journal (--local, playhead.replay), or "
            "name a collector (PLAYHEAD_COLLECTOR_URL, --url)"
        )
    return url


def options(base_url: str, api_key: str | None, timeout_seconds: float) -> dict[str, Any]:
    """Arguments for `httpx.Client` and `httpx.AsyncClient`.  `api_key` None: the key from the environment."""
    key = settings.load(api_key=api_key or None).api_key
    return {
        "base_url": base_url + "/api/v1/",
        "headers": {"authorization": f"Bearer {key}"} if key else {},
        "timeout": timeout_seconds,
        # A proxy from the environment cannot reach a collector on this machine.
        "trust_env": urlsplit(base_url).hostname not in _LOOPBACK,
    }


def unreachable(base_url: str, error: httpx.TransportError) -> CollectorUnreachable:
    """The exception for a request without a response."""
    if isinstance(error, httpx.TimeoutException):
        return CollectorUnreachable(f"the collector at {base_url} did not answer in time: try again, or ask for less")
    plain = ", without TLS if that begins with http://" if base_url.startswith("https:") and "SSL" in str(error) else ""
    return CollectorUnreachable(
        f"no collector answers at {base_url} ({error}): is it running? Start one with `playhead serve`, "
        f"or say where it is with PLAYHEAD_COLLECTOR_URL{plain}{grpc_hint(error)}"
    )


def answer(base_url: str, request: ApiRequest[T], response: httpx.Response) -> T:
    """The answer in a response.  Raises ClientError for an error response, and if it is not from a collector."""
    if not response.is_success:
        code, message = _refusal(response)
        if message is None or COLLECTOR_HEADER not in response.headers:
            raise _not_a_collector(base_url, f" (it said {response.status_code}{f': {message}' if message else ''})")
        raise _MEANS.get(response.status_code, ClientError)(message, code)
    try:
        return request.read(response)
    except ValueError:
        raise _not_a_collector(base_url) from None


def _not_a_collector(base_url: str, said: str = "") -> CollectorUnreachable:
    return CollectorUnreachable(
        f"what answers at {base_url} is no Playhead collector{said}: say where it is with PLAYHEAD_COLLECTOR_URL"
    )


def _refusal(response: httpx.Response) -> tuple[str | None, str | None]:
    """Code and message of an error response; None where it has none."""
    try:
        error = parse_json(response.content)["error"]
        return error.get("code"), str(error["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None, None
