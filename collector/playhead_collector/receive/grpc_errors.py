"""Converts refusals into gRPC's form: status code, message, and the time after which to send again."""

from collections.abc import Sequence
from typing import Any, Final

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from playhead_collector.errors import Refused
from playhead_collector.receive.otlp.reply import code_of

# Messages and trailers are sent as headers, of which clients read 8 KiB.
_MAX_LENGTH: Final = 500
_BY_NUMBER: Final[dict[int, Any]] = {code.value[0]: code for code in grpc.StatusCode}


def code_and_message(refused: Refused) -> tuple[Any, str]:
    """Returns the `grpc.StatusCode` of a refusal, and its message in ASCII."""
    return _BY_NUMBER[code_of(refused.status)], str(refused).encode("ascii", "replace")[:_MAX_LENGTH].decode()


def trailers(refused: Refused) -> Sequence[tuple[str, bytes]]:
    """Returns trailing metadata with the delay after which to send again, from the refusal's `Retry-After`; empty
    without one.

    The delay is given twice: in the details of a `google.rpc.Status`, as OTLP specifies, and on its own, where
    OpenTelemetry's exporter for Python looks for it.
    """
    seconds = refused.headers.get("Retry-After")
    if seconds is None:
        return ()
    code, message = code_and_message(refused)
    retry = RetryInfo(retry_delay=Duration(seconds=int(seconds)))
    status = Status(code=code.value[0], message=message)
    status.details.add().Pack(retry)
    return (
        ("grpc-status-details-bin", status.SerializeToString()),
        ("google.rpc.retryinfo-bin", retry.SerializeToString()),
    )
