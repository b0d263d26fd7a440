"""The collector's address and key for a client, and the exceptions for failed requests."""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from playhead.client.refusals import refusal_error
from playhead.client.requests import ApiRequest
from playhead.errors import CollectorUnreachable, SettingInvalid
from playhead.model.canonical import parse_json
from playhead.model.names import COLLECTOR_HEADER
from playhead.settings import sdk as settings
from playhead.settings.table import InForce, InvalidSettingValue, in_force_of, setting
from playhead.wire.loopback import is_loopback
from playhead.wire.retries import grpc_hint


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
# Longer than a request may wait for its turn and then run (PLAYHEAD_ANALYSIS_SECONDS, 30 s, for each). So the timeout
# of the collector comes first; its message says what to do.
TIMEOUT_SECONDS = 70.0


def in_force(environ: Mapping[str, str] = os.environ, **options: object) -> tuple[InForce, ...]:
    """Returns the client's settings with the source of each value. Raises SettingInvalid."""
    try:
        return in_force_of(ClientSettings, environ, options)
    except InvalidSettingValue as error:
        raise SettingInvalid(str(error)) from None


def collector_url(base_url: str | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """Returns the collector's URL: `base_url`, else the one from the environment, else the collector that receives
    spans. Raises SettingInvalid."""
    (line,) = in_force(environ, collector_url=base_url)
    url = line.value or settings.load(environ).endpoint
    if url is None:
        raise SettingInvalid(
            "PLAYHEAD_ENDPOINT=none says that there is no collector: ask the journal (--local, playhead.read_local), "
            "or name a collector (PLAYHEAD_COLLECTOR_URL, --url)"
        )
    return url


def options(base_url: str, api_key: str | None, timeout_seconds: float, project: str | None = None) -> dict[str, Any]:
    """Returns arguments for `httpx.Client` and `httpx.AsyncClient`. `api_key` and `project` None: as the environment
    says."""
    return {
        "base_url": base_url + "/api/v1/",
        "headers": settings.load(api_key=api_key or None, project=project or None).collector_headers,
        "timeout": timeout_seconds,
        "verify": verification(base_url),
        # A proxy from the environment cannot reach a collector on this machine.
        "trust_env": not is_loopback(base_url),
    }


def verification(base_url: str) -> ssl.SSLContext | bool:
    """Returns the `verify` argument for httpx. For an address without TLS it is a context that trusts no certificate:
    none is needed, and reading the authorities' certificates takes 30 ms of CPU."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if urlsplit(base_url).scheme == "http" else True


def unreachable(base_url: str, error: httpx.TransportError) -> CollectorUnreachable:
    """Makes the exception for a request that got no response."""
    if isinstance(error, httpx.TimeoutException):
        return CollectorUnreachable(f"the collector at {base_url} did not answer in time: try again, or ask for less")
    plain = ", without TLS if that begins with http://" if base_url.startswith("https:") and "SSL" in str(error) else ""
    return CollectorUnreachable(
        f"no collector answers at {base_url} ({error}): is it running? Start one with `playhead serve`, "
        f"or say where it is with PLAYHEAD_COLLECTOR_URL{plain}{grpc_hint(error)}"
    )


def is_nobody_there(error: CollectorUnreachable) -> bool:
    """Whether nothing listens at the collector's address: the error is not from a slow or a wrong answer."""
    return isinstance(error.__cause__, httpx.ConnectError)


def answer(base_url: str, request: ApiRequest[T], response: httpx.Response) -> T:
    """Reads the answer from a response. Raises ClientError for an error response, and if the response is not from a
    collector."""
    if not response.is_success:
        code, message = _refusal(response)
        if message is None or COLLECTOR_HEADER not in response.headers:
            raise _not_a_collector(base_url, f" (it said {response.status_code}{f': {message}' if message else ''})")
        raise refusal_error(response.status_code, message, code)
    try:
        return request.read(response)
    except ValueError:
        raise _not_a_collector(base_url) from None


def _not_a_collector(base_url: str, detail: str = "") -> CollectorUnreachable:
    return CollectorUnreachable(
        f"what answers at {base_url} is no Playhead collector{detail}: say where it is with PLAYHEAD_COLLECTOR_URL"
    )


def _refusal(response: httpx.Response) -> tuple[str | None, str | None]:
    """Returns the code and the message of an error response; None for both if the body is not an error of the API."""
    try:
        error = parse_json(response.content)["error"]
        return error.get("code"), str(error["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None, None
