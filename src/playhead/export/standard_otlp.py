"""OpenTelemetry's own OTLP exporter for programs without a tracer provider: what `OTEL_TRACES_EXPORTER=otlp` asks for.

The exporter gets the mirror spans (`playhead.calls.mirror_span`), which have refs and no payloads. The journal and its
delivery do not change. The exporter reads its own variables: address, headers, timeout, batches. Only the protocol is
read here: `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL`, else `OTEL_EXPORTER_OTLP_PROTOCOL`, else `http/protobuf`.
"""

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from playhead.kernel.guard import guarded, warn_once
from playhead.kernel.opentelemetry_sdk import TracerProvider

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


def protocol(environ: Mapping[str, str]) -> str:
    """Returns the protocol that OpenTelemetry's variables name; `http/protobuf` without one."""
    named = (environ.get(name, "").strip().lower() for name in _PROTOCOLS)
    return next(filter(None, named), "http/protobuf")


class StandardOtlpExport:
    """Sends what a tracer provider is given with OpenTelemetry's OTLP exporter, in batches, from a thread."""

    def __init__(self, provider: TracerProvider, exporter: "SpanExporter"):
        """Adds the exporter to the provider, and starts its thread."""
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - few programs ask for it

        self.provider = provider
        provider.add_span_processor(BatchSpanProcessor(exporter))
        # Shutting down may wait for a backend that is down, and no thread can be started while the interpreter ends.
        self._asked, self._done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._wait_and_shut_down, name="playhead-otlp-end", daemon=True)
        self._thread.start()

    def flush(self, seconds: float) -> bool:
        """Sends the spans that have ended. Returns False if that takes longer."""
        # Not in the caller's thread: the SDK's own function does not keep to a time.
        flushing = threading.Thread(target=self._flush, name="playhead-otlp-flush", daemon=True)
        flushing.start()
        flushing.join(seconds)
        return not flushing.is_alive()

    def shut_down(self, seconds: float) -> None:
        """Sends what waits, for at most this time. Spans that are still waiting then are lost for the backend."""
        self._asked.set()
        if self._thread.is_alive():  # not in a forked child, which exports little
            self._done.wait(seconds)
        elif not self._done.is_set():
            self.provider.shutdown()

    def _flush(self) -> None:
        with guarded("flush the export to another backend"):
            self.provider.force_flush()

    def _wait_and_shut_down(self) -> None:
        self._asked.wait()
        with guarded("end the export to another backend"):
            self.provider.shutdown()
        self._done.set()


def start_standard_otlp(provider: TracerProvider) -> StandardOtlpExport | None:
    """Makes the provider export with OpenTelemetry's OTLP exporter. Returns None, and warns once, if the exporter is
    not installed or refuses its variables."""
    named = protocol(os.environ)
    try:
        return StandardOtlpExport(provider, _exporter(named))
    except ImportError as error:
        warn_once(
            "otlp exporter",
            f"OTEL_TRACES_EXPORTER=otlp, and OpenTelemetry's exporter for {named} is not installed ({error}): spans go "
            'to the journal alone. pip install "playhead[otlp]"',
        )
    except Exception as error:  # noqa: BLE001 - another package's constructor, given the environment
        warn_once("otlp exporter", f"OTEL_TRACES_EXPORTER=otlp, and its exporter does not start ({error!r})")
    return None


def _exporter(named: str) -> "SpanExporter":
    """Raises ImportError if the exporter is not installed, ValueError for a protocol that is unknown."""
    if named == "http/protobuf":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra

        return OTLPSpanExporter()
    if named == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415 - an extra
            OTLPSpanExporter as GrpcSpanExporter,
        )

        return GrpcSpanExporter()
    raise ValueError(f"OTEL_EXPORTER_OTLP_PROTOCOL is http/protobuf or grpc, not {named!r}")
